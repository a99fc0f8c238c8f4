"""Which user of this machine is asking: Linux knows it of every connection to itself.

A port of this machine is open to all its users, unlike a socket file. Without a token, the user id
at the other end is what tells the owner of the index from everybody else. The kernel is asked for
that one connection (sock_diag(7)); a list of all connections can be long.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct

_ROOT = 0  # may read every file anyway, and is what a connection shows that is being closed
_SOCK_DIAG = 4  # the protocol of netlink sockets that tell about sockets
_BY_FAMILY, _REQUEST, _ERROR = 20, 1, 2
_HEADER = struct.Struct("=IHHII")  # of a netlink message: length, type, flags, number, sender
_WANTED = struct.Struct("=BBBBI")  # family, protocol, nothing, nothing, states
_ENDS = struct.Struct("!HH16s16s")  # ports and addresses of both ends, the asked one first
_ANY = b"\0" * 4 + b"\xff" * 8  # on any device, with any cookie
_UID = 16 + 4 + 48 + 12  # bytes before the user id in the answer: header, state, ends, queues
_PATIENCE = 1.0  # seconds


def is_another_user(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Say whether a connection comes from another user; no, where the system does not tell."""
    if client is None or server is None or not hasattr(socket, "AF_NETLINK"):
        return False
    try:
        owner = _owner(client, server)
    except (OSError, ValueError, struct.error):  # no address, or a kernel that does not answer
        return False
    return owner not in {_ROOT, os.getuid()}


def _owner(client: tuple[str, int], server: tuple[str, int]) -> int:
    """Ask for the user id of the socket at the other end, whose own address is the client's."""
    here, there = ipaddress.ip_address(client[0]), ipaddress.ip_address(server[0])
    family = socket.AF_INET if here.version == 4 else socket.AF_INET6
    ends = _ENDS.pack(client[1], server[1], here.packed, there.packed)
    wanted = _WANTED.pack(family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + ends + _ANY
    header = _HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
        kernel.settimeout(_PATIENCE)
        kernel.sendto(header + wanted, (0, 0))
        answer = kernel.recv(4096)
    if _HEADER.unpack_from(answer)[1] == _ERROR:
        raise OSError("There is no such connection.")
    return int(struct.unpack_from("=I", answer, _UID)[0])
