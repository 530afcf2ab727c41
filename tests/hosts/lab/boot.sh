#!/bin/sh
# Process 1 of a test host, in its namespaces, up to the program that stays: builds the root, moves into it, starts
# services. Prints its own number as the machine knows it, then waits for a line, by which the cable is plugged in.
# From the caller: DIRECTORY of the host, LAYERS (of the root, the topmost first), SYSCTLS (a copy of the machine's),
# NAME, ADDRESS (with prefix), MACHINE (its address), UNITS (to start).
set -eu
umask 022
read -r number _ </proc/self/stat
echo "$number"
read -r _

mount --make-rprivate /
echo "$NAME" >/proc/sys/kernel/hostname
root=$DIRECTORY/root
mount -t overlay -o "lowerdir=$LAYERS,upperdir=$DIRECTORY/upper,workdir=$DIRECTORY/work" overlay "$root"
cd "$root"
mount --bind "$DIRECTORY/containerd" var/lib/containerd # an overlay can't lie on an overlay
mkdir -p opt/local-path-provisioner
mount --bind "$DIRECTORY/volumes" opt/local-path-provisioner # and volumes may not
mount -t proc proc proc
mount --rbind /sys sys
if grep -q ' - cgroup ' /proc/self/mountinfo; then # version 1: groups that containerd makes lie below the lab's own
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  grep -o ' /sys/fs/cgroup/.* - cgroup.*' /proc/self/mountinfo | while read -r point rest; do
    mkdir "$root$point"
    options=${rest##* }
    case $rest in
      *' - cgroup2 '*) mount -t cgroup2 cgroup2 "$root$point" ;;
      *name=*) mount -t cgroup -o "none,${options#rw,}" cgroup "$root$point" ;;
      *) mount -t cgroup -o "${options#rw,}" cgroup "$root$point" ;;
    esac
  done
fi
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p run/lock run/sshd run/systemd/system run/old
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr

# What is set below /proc/sys stays in the host, but for net, which is the host's own anyway.
for area in fs kernel user vm; do
  mkdir -p "run/.sysctl/$area/upper" "run/.sysctl/$area/work"
  changes=run/.sysctl/$area
  mount -t overlay -o "lowerdir=$SYSCTLS/$area,upperdir=$changes/upper,workdir=$changes/work" overlay "proc/sys/$area"
done

pivot_root . run/old
cd /
umount --lazy /run/old
rmdir /run/old
echo "$NAME" >/etc/hostname
printf '127.0.0.1 localhost\n%s %s\n%s registry.lab\n' "${ADDRESS%/*}" "$NAME" "$MACHINE" >/etc/hosts
echo "$NAME" >/proc/sys/kernel/hostname
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ip -batch - <<IP
link set lo up
address add $ADDRESS dev eth0
link set eth0 up
IP
exec </dev/null >/var/log/boot.log 2>&1
[ -e "/lib/modules/$(uname -r)/modules.dep" ] || depmod
mkdir -p /run/sysctl.d
find /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d -name '*.conf' -printf '%f %p\n' | sort |
  while read -r _ file; do sysctl --quiet --ignore --load "$file"; done # as systemd-sysctl does: the last name wins
without="setpriv --bounding-set=-sys_module,-sys_rawio,-sys_time" # nobody sets the machine's clock from here
$without /usr/sbin/sshd
# shellcheck disable=SC2016 # the inner shell expands it
exec $without /usr/lib/systemd/systemd -s -- /bin/sh -c 'for unit in $UNITS; do systemctl start "$unit"; done; exec sleep infinity'
