#!/bin/busybox sh
# The first program of a guest: load the modules, find the root by its serial number, go on there.
b=/bin/busybox
$b mkdir -p /proc /sys /dev /root
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
while read -r module; do
    said=$($b insmod "/modules/$module.ko" 2>&1) || echo "fsbench: module $module: $said"
done </modules/order
root=
tries=0
while [ -z "$root" ] && [ $tries -lt 300 ]; do
    for disk in /sys/block/vd*; do
        [ -e "$disk/serial" ] || continue
        serial=
        read -r serial <"$disk/serial"
        [ "$serial" = fsbench-root ] && root=/dev/${disk##*/}
    done
    [ -n "$root" ] || $b sleep 0.1
    tries=$((tries + 1))
done
if ! $b mount -t squashfs -o ro "$root" /root; then
    echo "fsbench: this kernel has no way to its root: it needs virtio_pci, virtio_blk and squashfs (with lz4)"
    $b sync
    $b reboot -f
fi
$b mount -t tmpfs -o mode=755,size=4m fsbench /root/fsbench
$b cp -r /fsbench/* /root/fsbench/
for folder in dev proc sys; do
    $b mount --move /$folder /root/$folder
done
# Imported: of a program that is a file's name Python compiles the whole text anew.
exec $b switch_root /root /usr/bin/python3 -I -S -c \
    'import sys; sys.path.insert(0, "/fsbench"); from runner.agent.guest import guest_init as i; i.begin()'
