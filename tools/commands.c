#include "command.h"

const struct tool_command *const tool_commands[] = {
    &tool_record, &tool_attach, &tool_detach, &tool_doctor, &tool_report,   &tool_diff,      &tool_check,
    &tool_info,   &tool_dump,   &tool_export, &tool_import, &tool_roofline, &tool_calibrate, &tool_ctl,
};
const size_t tool_command_count = sizeof(tool_commands) / sizeof(tool_commands[0]);
