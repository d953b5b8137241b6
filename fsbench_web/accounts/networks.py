"""What counts as one sender. Pure: the ASGI handler asks before Django is set up."""

from ipaddress import IPv6Address, ip_address, ip_network

# What one machine or household has of IPv6: it chooses among 2^64 addresses as it likes.
_IPV6_PREFIX = 64


def network_of(address: str, prefix: int = _IPV6_PREFIX) -> str:
    """What counts as one sender: an IPv4 address; of IPv6 the network that one host has."""
    try:
        ip = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ip_network((ip, prefix), strict=False).network_address)
    return str(ip)
