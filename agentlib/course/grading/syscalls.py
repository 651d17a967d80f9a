"""A filter for system calls that no exercise needs and that would lead around the limits.

Files in memory, shared memory and mounts are memory that no limit of a process counts; a new user namespace
gives rights inside it; the others reach into other processes or into the kernel. A child stays on the
processor of its grader, so that one that is busy in many processes takes nothing from the others.

The numbers come from Linux's own tables: arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h. The form of a filter: Documentation/userspace-api/seccomp_filter.rst.
"""

import errno
import struct

__all__ = ["ARCHITECTURES", "call_filter"]

# name: (number on x86-64, number on 64-bit ARM)
FORBIDDEN = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
CLONE = (56, 220)
CLONE3 = (435, 435)
MMAP = (9, 222)
SOCKETS = ((41, 198), (53, 199))  # socket, socketpair
FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK; others, such as AF_VSOCK, know no namespace that holds them."""
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
OTHER_ABI = 0x40000000  # from here on x86-64 has its calls once more, for programs with short pointers
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH_...

LOAD, EQUAL, AT_LEAST, ANY_BIT, GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, FOURTH_ARGUMENT = 0, 4, 16, 40  # places in struct seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # REFUSE plus an errno


def call_filter(machine: str) -> bytes | None:
    """Make the filter for a kind of machine, as `platform.machine()` names it; None for an unknown one."""
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    refuse = REFUSE | errno.EPERM

    def unless(test: int, value: int, answer: int) -> list[tuple[int, int, int, int]]:
        """If the test holds, give this answer; else go on."""
        return [(test, 0, 1, value), (GIVE, 0, 0, answer)]

    program = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (GIVE, 0, 0, refuse)]
    program += [(LOAD, 0, 0, NUMBER)]
    program += unless(AT_LEAST, OTHER_ABI, refuse)
    for numbers in FORBIDDEN.values():
        program += unless(EQUAL, numbers[column], refuse)
    # A filter cannot look at what clone3 is asked for; told that it does not exist, programs use clone.
    program += unless(EQUAL, CLONE3[column], REFUSE | errno.ENOSYS)
    clone = [(LOAD, 0, 0, FIRST_ARGUMENT), *unless(ANY_BIT, NEW_NAMESPACES, refuse), (GIVE, 0, 0, ALLOW)]
    # Memory that several processes share stays when none of them maps it: no look at a process shows it.
    mmap = [(LOAD, 0, 0, FOURTH_ARGUMENT), (ANY_BIT, 1, 0, MAP_SHARED), (GIVE, 0, 0, ALLOW)]
    mmap += [*unless(ANY_BIT, MAP_ANONYMOUS, refuse), (GIVE, 0, 0, ALLOW)]
    socket = [(LOAD, 0, 0, FIRST_ARGUMENT)]
    socket += [step for family in FAMILIES for step in unless(EQUAL, family, ALLOW)]
    socket += [(GIVE, 0, 0, REFUSE | errno.EAFNOSUPPORT)]
    for numbers, steps in ((CLONE, clone), (MMAP, mmap), *((numbers, socket) for numbers in SOCKETS)):
        program += [(EQUAL, 0, len(steps), numbers[column]), *steps]
    program += [(GIVE, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in program)
