"""The walls around a guest (Linux): namespaces, Landlock and seccomp, called through ctypes.

The keeper imports this file without Sidestep, so it uses the standard library only. Each layer that the kernel refuses
is left out and reported: a container may forbid namespaces, an old kernel has no Landlock.

- **Namespaces** (``enter_namespaces``, ``seal_namespace``): the guest sees its own processes only, has no network, and
  an empty ``/dev/shm``; the end of its first process ends all of them.
- **Landlock** (``restrict_files``): only listed files can be read, only a private folder can be written; no TCP, no
  signals to processes outside.
- **seccomp** (``restrict_calls``): no sockets, no tracing, no mounts, no namespaces of its own, no signals and limits
  for others where the first two layers do not already hide them.

Numbers of system calls and flags are those of the kernel's headers for x86-64 and arm64.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import stat
import struct
from collections.abc import Iterable, Sequence

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
NEW_NAMESPACES = 0x7E020080  # all of them, and that of time
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_SET_SECCOMP = 38, 24, 22
SHM_BYTES = 1 << 30
"""Size of the guest's own ``/dev/shm`` and folder for temporary files, where these can be limited."""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(result: int) -> int:
    """The result of a system call, or ``OSError``."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# namespaces


def enter_namespaces() -> bool:
    """Put this process into a user namespace and its future children into a namespace of processes. False where the
    system does not allow it."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _call(_libc().unshare(CLONE_NEWUSER | CLONE_NEWPID))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except (OSError, AttributeError):
        return False
    return True


def seal_namespace(scratch: str) -> list[str]:
    """Give the first process of a namespace its own view of processes, memory files, network and temporary files.
    Returns what is held."""
    libc, held = _libc(), []
    with contextlib.suppress(OSError):
        _call(libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP))
        held.append("network")
        _mount(libc, None, "/", None, MS_REC | MS_PRIVATE)
        _mount(libc, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        held.append("processes")
        for folder in ("/dev/shm", scratch):
            _mount(libc, "tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, f"size={SHM_BYTES},mode=1777")
    return held


def _mount(
    libc: ctypes.CDLL, source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    _call(libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def drop_capabilities() -> None:
    """Keep no privilege of the superuser, neither now nor after ``exec``, and never gain one."""
    libc = _libc()
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = struct.pack("<Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    with contextlib.suppress(OSError, AttributeError):
        _call(libc.capset(header, bytes(24)))
    _call(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


# Landlock

FS_EXECUTE, FS_WRITE_FILE, FS_READ_FILE, FS_READ_DIR = 1, 2, 4, 8
FS_TRUNCATE, FS_IOCTL_DEV = 1 << 14, 1 << 15
FS_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""Every right over files that a version of Landlock knows; from version 5 on (1 << 16) − 1."""
READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR
FOR_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV
"""Rights that a rule for something else than a folder may hold."""
NET_BOTH, SCOPE_BOTH = 3, 3
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls; the same numbers on all architectures."""
RULE_PATH_BENEATH = 1
O_PATH = 0o10000000


def landlock_version() -> int:
    """Version of Landlock; 0: none."""
    return max(0, int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def restrict_files(readable: Iterable[str], listable: Iterable[str], writable: Iterable[str]) -> list[str]:
    """From now on this process and its children can read what is in ``readable``, list what is in ``listable``, and
    write what is in ``writable`` (files, folders with all that is in them), and nothing else. Returns what is held."""
    try:
        return _restrict_files(landlock_version(), readable, listable, writable)
    except OSError:
        return []


def _restrict_files(
    version: int, readable: Iterable[str], listable: Iterable[str], writable: Iterable[str]
) -> list[str]:
    if version == 0:
        return []
    libc, rights = _libc(), FS_ALL.get(version, (1 << 16) - 1)
    scoped = SCOPE_BOTH if version >= 6 else 0
    attributes = struct.pack("<QQQ", rights, NET_BOTH if version >= 4 else 0, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for paths, allowed in ((readable, READ), (listable, FS_READ_DIR), (writable, rights)):
            for path in paths:
                _allow(libc, ruleset, path, allowed)
        _call(libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)
    return ["files", *(["signals"] if scoped else [])]


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, allowed: int) -> None:
    try:
        place = os.open(path, O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there cannot be read
    try:
        rights = allowed if stat.S_ISDIR(os.fstat(place).st_mode) else allowed & FOR_FILES
        rule = struct.pack("<Qi", rights, place)
        _call(libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, ctypes.c_uint32(0)))
    finally:
        os.close(place)


# seccomp

ALLOW, REFUSE, NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
LOAD, JUMP_EQUAL, JUMP_SET, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000

_NUMBERS = {  # x86-64, arm64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "acct": (163, 89),
    "quotactl": (179, 60), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "socket": (41, 198), "personality": (135, 92),
}  # fmt: skip
"""Calls that a guest never needs, or that reach other processes, the system, or the network. Pairs of connected sockets
(``socketpair``) stay allowed."""
_CLONE, _CLONE3 = (56, 220), (435, 435)
_SETTINGS = {  # call → (numbers, argument that names the process; 0 is the caller)
    "prlimit64": ((302, 261), 0), "setpriority": ((141, 140), 1), "ioprio_set": ((251, 30), 1),
    "sched_setparam": ((142, 118), 0), "sched_setscheduler": ((144, 119), 0), "sched_setattr": ((314, 274), 0),
}  # fmt: skip
_SIGNALS = {
    "kill": ((62, 129), 0), "tgkill": ((234, 131), 0), "rt_sigqueueinfo": ((129, 138), 0),
    "rt_tgsigqueueinfo": ((297, 240), 0),
}  # fmt: skip
_OTHER_SIGNALS = {"tkill": (200, 130), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434)}

Instruction = tuple[int, int, int, int]


def call_filter(machine: str, hidden: bool, signals_held: bool, pid: int) -> bytes:
    """The program of seccomp's filter. Where other processes are ``hidden``, calls about them stay allowed; else
    settings, and signals unless Landlock holds them, are allowed about ``pid``, the caller itself, only."""
    column = list(ARCHITECTURES).index(machine)
    program: list[Instruction] = [
        (LOAD, 0, 0, 4),  # the architecture
        (JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, 0),  # the number of the call
        (JUMP_AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, REFUSE),
        *_on(_CLONE3[column], [(RETURN, 0, 0, NO_SUCH_CALL)]),  # its flags are out of reach: the C library tries clone
        *_on(
            _CLONE[column],
            [(LOAD, 0, 0, 16), (JUMP_SET, 0, 1, NEW_NAMESPACES & ~0x80), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)],
        ),
    ]
    refused = [numbers[column] for numbers in _NUMBERS.values()]
    others = {} if hidden else _SETTINGS if signals_held else _SETTINGS | _SIGNALS
    for numbers, argument in others.values():
        program += _on(numbers[column], _only_about(pid, argument))
    if not (hidden or signals_held):
        refused += [numbers[column] for numbers in _OTHER_SIGNALS.values()]
    for number in refused:
        program += _on(number, [(RETURN, 0, 0, REFUSE)])
    program.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _on(number: int, then: Sequence[Instruction]) -> list[Instruction]:
    return [(JUMP_EQUAL, 0, len(then), number), *then]


def _only_about(pid: int, argument: int) -> list[Instruction]:
    """Allow the call if an argument is 0 or ``pid``."""
    return [
        (LOAD, 0, 0, 16 + 8 * argument),
        (JUMP_EQUAL, 1, 0, 0),
        (JUMP_EQUAL, 0, 1, pid),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]


def restrict_calls(hidden: bool, signals_held: bool) -> list[str]:
    """From now on this process and its children cannot use the calls above. Returns what is held."""
    machine = platform.machine()
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8:
        return []
    program = call_filter(machine, hidden, signals_held, os.getpid())
    buffer = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    try:
        _call(_libc().prctl(PR_SET_SECCOMP, 2, description, 0, 0))
    except OSError:
        return []
    return ["calls", "network", "signals"]
