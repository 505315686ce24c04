/* How native_stacks.c and its plugins note the functions and lines of their own stack. */
#ifndef WALLSHIM_TESTS_NATIVE_STACKS_H
#define WALLSHIM_TESTS_NATIVE_STACKS_H

enum { MARKS_MOST = 512 };

struct mark {
    const char *function, *file;
    int line;
};

extern __thread struct mark native_marks[MARKS_MOST];
extern __thread int native_depth;

#define NOT_INLINED __attribute__((noipa))
#define INLINED inline __attribute__((always_inline))

/* MARK stands at the begin of a function, UNMARK at its end. */
#define MARK                                                 \
    int mark = native_depth++;                               \
    native_marks[mark] = (struct mark)                       \
    {                                                        \
        __func__, &(strrchr("/" __FILE__, '/'))[1], __LINE__ \
    }
#define UNMARK (native_depth--)

/* Makes a call, and notes the call's line in the mark of the calling function. */
#define AT(call) (native_marks[mark].line = __LINE__, (call))

#endif
