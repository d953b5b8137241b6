"""What bpftrace is to count of a file system's operations: scripts of fixed words. Pure.

What is traced is a table of this module and what the kernel has of it. The device is a positional
parameter (``$1``) that is compared with the name that the kernel keeps of a mounted block device
(``super_block.s_id``: "sda", "loop0"). It holds for Btrfs, where files have device numbers of their
own, and after a workload has remounted. No other file system of the host is in it.

Two ways, the first that the kernel allows:

- *functions*: kprobes on the file system's own, as BCC's ext4dist, xfsdist and btrfsdist have them;
- *calls*: the tracepoints of system calls, by the file that is called for; without kprobes.

It counts from one system call of the worker to another: ``kill`` of a process that cannot be
(``$2``), with the signal 0 and with any other. The kernel sees that at once, while bpftrace itself
looks for signals ten times a second, and misses one that comes while it does anything else.

Maps by operation: ``@ns`` latencies by power of two nanoseconds, ``@time`` their sum, ``@bytes``,
``@begun``, ``@failed``, ``@queued`` (handed on to be done later: the end is not seen).
"""

from collections.abc import Collection, Mapping

from fsbench_web.core.traces.operations import CALLS, ENDED, FUNCTIONS, OPEN, READ, SYNC, WRITE

_EXT4 = {
    READ: "ext4_file_read_iter",
    WRITE: "ext4_file_write_iter",
    OPEN: "ext4_file_open",
    SYNC: "ext4_sync_file",
}
FUNCTIONS_OF: Mapping[str, Mapping[str, str]] = {
    "ext3": _EXT4,
    "ext4": _EXT4,
    "xfs": {
        READ: "xfs_file_read_iter",
        WRITE: "xfs_file_write_iter",
        OPEN: "xfs_file_open",
        SYNC: "xfs_file_fsync",
    },
    "btrfs": {
        READ: "btrfs_file_read_iter",
        WRITE: "btrfs_file_write_iter",
        OPEN: "btrfs_file_open",
        SYNC: "btrfs_sync_file",
    },
}
"""By slug of the file system; ext3 is mounted by the driver of ext4."""
_CALLS_OF: Mapping[str, tuple[str, ...]] = {
    READ: ("read", "pread64", "readv", "preadv", "preadv2"),
    WRITE: ("write", "pwrite64", "writev", "pwritev", "pwritev2"),
    OPEN: ("open", "openat", "openat2", "creat"),
    SYNC: ("fsync", "fdatasync", "syncfs"),
}
ALL_CALLS = tuple(name for names in _CALLS_OF.values() for name in names)
# The inode of what is called for, from the first argument of a function (include/linux/fs.h).
_INODE = {
    READ: "((struct kiocb *)arg0)->ki_filp->f_inode",
    WRITE: "((struct kiocb *)arg0)->ki_filp->f_inode",
    OPEN: "((struct inode *)arg0)",
    SYNC: "((struct file *)arg0)->f_inode",
}
_TASK = "(uint64)curtask"
"""Which task it is, in any namespace of processes: from bpftrace 0.22 on ``tid`` is a number of its
own namespace, and an error for the tasks of all others.
"""
_QUEUED = 529
"""EIOCBQUEUED of include/linux/errno.h."""
GATE = "kill"
"""The system call of the worker."""
BEGUN = "begun"


def script(by: str, filesystem: str, calls: Collection[str], most_s: int) -> str:
    """A program of bpftrace. ``by``: FUNCTIONS or CALLS; ``calls`` those that the kernel traces."""
    frame = (
        f'BEGIN {{ printf("{BEGUN}\\n"); }}\n'
        f"interval:s:{most_s} {{ exit(); }}\n"
        f"tracepoint:syscalls:sys_enter_{GATE} /args->pid == $2/ {{\n"
        "  if (args->sig == 0) { @is_on = 1; } else { @is_on = 0; exit(); }\n}\n"
        f'END {{ printf("{ENDED}\\n"); CLEAR }}\n'
    )
    if by == FUNCTIONS:
        probes = [_of_function(*entry) for entry in FUNCTIONS_OF[filesystem].items()]
    else:
        assert by == CALLS
        traced_calls = {
            operation: [name for name in names if name in calls]
            for operation, names in _CALLS_OF.items()
        }
        probes = [_of_calls(operation, names) for operation, names in traced_calls.items() if names]
    clear = " ".join(f"clear(@at_{operation});" for operation in (READ, WRITE, OPEN, SYNC))
    return frame.replace("CLEAR", clear) + "\n".join(probes)


def _of_function(operation: str, function: str) -> str:
    result = "(int64)retval" if operation in (READ, WRITE) else "(int64)(int32)retval"
    return (
        f"kprobe:{function} /@is_on/ {{\n"
        f"  $inode = {_INODE[operation]};\n"
        f"  if ($inode->i_sb->s_id == str($1)) {{ {_begin(operation)} }}\n"
        "}\n"
        f"kretprobe:{function} /@at_{operation}[{_TASK}]/ {{\n"
        f"  $result = {result};\n{_end(operation)}}}"
    )


def _of_calls(operation: str, names: Collection[str]) -> str:
    enter = ",\n".join(f"tracepoint:syscalls:sys_enter_{name}" for name in names)
    leave = ",\n".join(f"tracepoint:syscalls:sys_exit_{name}" for name in names)
    if operation != OPEN:
        return (
            f"{enter} /@is_on/ {{\n{_file('args->fd')}"
            f"  if ($file->f_inode->i_sb->s_id == str($1)) {{ {_begin(operation)} }}\n"
            "}\n"
            f"{leave} /@at_{operation}[{_TASK}]/ {{\n"
            f"  $result = (int64)args->ret;\n{_end(operation)}}}"
        )
    # Which file it is, is known when it is open; one that cannot be opened is of no file system.
    return (
        f"{enter} /@is_on/ {{ @at_{OPEN}[{_TASK}] = nsecs; }}\n"
        f"{leave} /@at_{OPEN}[{_TASK}] && args->ret < 0/ {{ delete(@at_{OPEN}[{_TASK}]); }}\n"
        f"{leave} /@at_{OPEN}[{_TASK}] && args->ret >= 0/ {{\n{_file('args->ret')}"
        "  $result = (int64)args->ret;\n"
        "  if ($file->f_inode->i_sb->s_id == str($1)) {\n"
        f'    @begun["{OPEN}"] = count();\n{_end(OPEN)}'
        f"  }} else {{ delete(@at_{OPEN}[{_TASK}]); }}\n}}"
    )


def _file(number: str) -> str:
    """The open file of a number, of the task that calls (fdtable of include/linux/fdtable.h)."""
    return (
        "  $files = (uint64)((struct task_struct *)curtask)->files->fdt->fd;\n"
        f"  $file = (struct file *)*(uint64 *)($files + 8 * (uint64){number});\n"
    )


def _begin(operation: str) -> str:
    return f'@at_{operation}[{_TASK}] = nsecs; @begun["{operation}"] = count();'


def _end(operation: str) -> str:
    """Of what began at ``@at_...[_TASK]`` and gave ``$result``."""
    says_bytes = operation in (READ, WRITE)
    counted = f' @bytes["{operation}"] = sum($result);' if says_bytes else ""
    return (
        f"  $took = nsecs - @at_{operation}[{_TASK}];\n"
        f"  delete(@at_{operation}[{_TASK}]);\n"
        f'  if ($result == -{_QUEUED}) {{ @queued["{operation}"] = count(); }} else {{\n'
        f'    @ns["{operation}"] = hist($took); @time["{operation}"] = sum($took);\n'
        f'    if ($result < 0) {{ @failed["{operation}"] = count(); }} else {{{counted} }}\n'
        "  }\n"
    )
