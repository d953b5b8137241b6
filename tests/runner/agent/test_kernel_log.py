"""Crashes and I/O errors as kernels print them."""

import pytest

from runner.agent.guest import kernel_log

PANIC = """\
[   30.300492] sysrq: Trigger a crash
[   30.304528] Kernel panic - not syncing: sysrq triggered crash
[   30.304830] CPU: 0 PID: 129 Comm: sh Not tainted 6.1.0-50-amd64 #1  Debian 6.1.176-1
[   30.305301] Call Trace:
[   30.305864]  <TASK>
[   30.306026]  dump_stack_lvl+0x44/0x5c
[   30.306290]  panic+0x118/0x2f4
[   30.308617]  </TASK>
[   30.309428] Kernel Offset: disabled
"""

OOPS = """\
[   12.101010] EXT4-fs (vda): mounted filesystem with ordered data mode. Quota mode: none.
[   41.700001] BUG: kernel NULL pointer dereference, address: 0000000000000020\r
[   41.700010] #PF: supervisor read access in kernel mode\r
[   41.700014] #PF: error_code(0x0000) - not-present page\r
[   41.700020] Oops: 0000 [#1] PREEMPT SMP NOPTI\r
[   41.700031] CPU: 0 PID: 412 Comm: iozone Not tainted 6.1.0-50-amd64 #1  Debian 6.1.176-1\r
[   41.700044] RIP: 0010:txBegin+0x123/0x2c0 [jfs]\r
[   41.700050] Code: 48 8b 05 00 00 00 00 <48> 8b 40 20\r
[   41.700060] Call Trace:\r
[   41.700061]  <TASK>\r
[   41.700062]  jfs_create+0x6e/0x310 [jfs]\r
[   41.700080]  </TASK>\r
[   41.700090] ---[ end trace 0000000000000000 ]---\r
[   41.900000] Kernel panic - not syncing: Fatal exception\r
[   41.900010] Kernel Offset: disabled\r
[   41.900020] ---[ end Kernel panic - not syncing: Fatal exception ]---\r
[   42.000000] after the end
"""


def test_it_says_what_a_panic_was() -> None:
    problem = kernel_log.problem_in(PANIC)

    assert problem is not None
    assert problem.kind == kernel_log.PANIC
    assert problem.is_fatal
    assert problem.sentence == "The guest's kernel panicked: sysrq triggered crash."
    assert problem.lines[0] == "Kernel panic - not syncing: sysrq triggered crash"
    assert " panic+0x118/0x2f4" in problem.lines


def test_it_tells_an_oops_by_its_first_line_and_its_place_not_by_the_panic_it_ends_in() -> None:
    problem = kernel_log.problem_in(OOPS)

    assert problem is not None
    assert problem.kind == kernel_log.OOPS
    assert problem.sentence == (
        "The guest's kernel crashed: BUG: kernel NULL pointer dereference, address: "
        "0000000000000020, in txBegin+0x123/0x2c0 [jfs]."
    )
    assert problem.lines[0].startswith("BUG: kernel NULL")
    assert problem.lines[-1].startswith("---[ end Kernel panic")
    assert not any("\r" in line for line in problem.lines)


def test_an_io_error_before_a_crash_is_told_with_it() -> None:
    error = "[   40.0] I/O error, dev vda, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1\n"

    problem = kernel_log.problem_in(error + OOPS)

    assert problem is not None
    assert problem.kind == kernel_log.OOPS
    assert problem.lines[0].startswith("I/O error, dev vda")


@pytest.mark.parametrize(
    "line",
    [
        "blk_update_request: I/O error, dev vda, sector 12345 op 0x0:(READ) flags 0x0",
        "I/O error, dev vdb, sector 0 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "critical medium error? I/O error, dev vda, sector 9",
        "Buffer I/O error on dev vda, logical block 1, lost async page write",
        "EXT4-fs error (device vda): ext4_lookup:1855: inode #2: comm ls: deleted inode",
        "EXT4-fs error (device vda) in ext4_reserve_inode_write:5900: Journal has aborted",
        "XFS (vda): metadata I/O error in xlog_write at daddr 0x800 len 64 error 5",
        "XFS (vda): Corruption of in-memory data (0x8) detected at xfs_defer_finish",
        "ERROR: (device vda): diAllocExt: error reading iag",
        "REISERFS error (device vda): vs-5150 search_by_key: invalid format found",
        "BTRFS error (device vda): bdev /dev/vda errs: wr 1, rd 0, flush 0",
        "BTRFS critical (device vda): corrupt leaf",
        "F2FS-fs (vda): inconsistent node block, nid:4",
        "exFAT-fs (vda): error, invalid access to FAT (entry 0x6f1b2c3d)",
        "ntfs3: vda: Mark volume as dirty due to NTFS errors",
        "ntfs3(vda): failed to read volume at offset 0x1000",
        "NILFS error (device vda): nilfs_bmap_lookup_contig: broken bmap (inode number=3)",
    ],
)
def test_it_knows_every_file_systems_own_words_for_an_error(line: str) -> None:
    problem = kernel_log.problem_in(f"[    1.0] harmless\n[   99.123456] {line}\n")

    assert problem is not None
    assert problem.kind == kernel_log.IO_ERROR
    assert problem.is_fatal
    assert problem.lines == (line,)
    assert line.rstrip(".") in problem.sentence


@pytest.mark.parametrize(
    "line",
    [
        "tsc: Unable to calibrate against PIT",
        "EXT4-fs (vda): mounted filesystem with ordered data mode. Quota mode: none.",
        "EXT4-fs (vda): mounted filesystem without journal. Opts: errors=remount-ro",
        "XFS (vda): Mounting V5 Filesystem",
        "XFS (vda): Ending clean mount",
        'REISERFS (device vda): found reiserfs format "3.6" with standard journal',
        "F2FS-fs (vda): Mounted with checkpoint version = 3b8f",
        "NILFS (vda): mounting unchecked fs",
        "exFAT-fs (vda): Volume was not properly unmounted. Some data may be corrupt.",
        "ntfs3: Enabled Linux POSIX ACLs support",
        "..MP-BIOS bug: 8254 timer not connected to IO-APIC",
        "hrtimer: interrupt took 8497924 ns",
        "reboot: Restarting system",
    ],
)
def test_a_healthy_kernel_is_not_taken_for_a_sick_one(line: str) -> None:
    assert kernel_log.problem_in(f"[    1.000000] {line}\n") is None


def test_being_stuck_or_short_of_memory_explains_an_end_and_makes_none() -> None:
    killed = "Out of memory: Killed process 133 (fio) total-vm:900000kB, anon-rss:800000kB"
    stuck = "watchdog: BUG: soft lockup - CPU#0 stuck for 23s! [iozone:412]"

    memory, lockup = kernel_log.problem_in(killed), kernel_log.problem_in(f"[   9.9] {stuck}")

    assert memory is not None
    assert lockup is not None
    assert (memory.kind, memory.is_fatal) == (kernel_log.NO_MEMORY, False)
    assert "Give it more" in memory.sentence
    assert (lockup.kind, lockup.is_fatal) == (kernel_log.STUCK, False)


def test_terminal_codes_and_stamps_are_no_part_of_a_line() -> None:
    assert kernel_log.plain_line("\x1b[0m<4>[   12.345678][  T133] hello\r\n") == "hello"
    assert kernel_log.plain_line("[    0.000000] \x07bell") == "bell"


def test_a_trace_without_end_is_cut() -> None:
    endless = "BUG: unable to handle page fault for address: ffff\n" + "line\n" * 5000

    problem = kernel_log.problem_in(endless)

    assert problem is not None
    assert len(problem.lines) == kernel_log.MOST_LINES
