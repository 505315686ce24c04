/* How matrix products and attention are shown, by size, and what holds products back. */
#ifndef WALLSHIM_ANALYSIS_PRODUCTS_REPORT_H
#define WALLSHIM_ANALYSIS_PRODUCTS_REPORT_H

#include "analysis/products.h"

void ws_products_text(const struct ws_track_roofline *result, struct ws_page *page);

/* Adds the lists `products` and `attention`. Returns 0 or -ENOMEM. */
int ws_products_json(const struct ws_report *report, const struct ws_track_roofline *result, json_t *roofline);

#endif
