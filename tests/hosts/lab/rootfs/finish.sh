#!/bin/sh
# Runs in a new tree, once: users, an RPM database, and a package repository whose packages are empty but well named.
# Arguments: VERSION (of openEuler-release, such as 24.03LTS) and the names of the packages.
set -eu
version=$1
shift

useradd --create-home --shell /bin/bash ops
echo ops:ops-secret | chpasswd
echo 'session optional pam_umask.so umask=0077' >>/etc/pam.d/common-session # openEuler hardens logins so
ln -sf /usr/bin/tini /usr/lib/systemd/systemd  # process 1 is called systemd, as Ansible looks for it
rm -f /etc/ssh/ssh_host_*

mkdir -p /etc/rpm /var/lib/rpm /srv/repository/Packages
echo '%_dbpath /var/lib/rpm' >/etc/rpm/macros
rpm --initdb
cd "$(mktemp -d)"
for name in openEuler-release "$@"; do
  cat >"$name.spec" <<SPEC
Name: $name
Version: $([ "$name" = openEuler-release ] && echo "$version" || echo 1.0)
Release: 1
Summary: An empty package of that name, for tests
License: Apache-2.0
BuildArch: noarch
$([ "$name" != openEuler-release ] || echo "Provides: system-release = $version")
%description
It holds no file.
%files
SPEC
  rpmbuild -bb --quiet --define "_topdir $PWD" "$name.spec"
done
find . -name '*.rpm' -exec mv {} /srv/repository/Packages/ \;
cd /
createrepo_c --quiet /srv/repository
rpm --install /srv/repository/Packages/openEuler-release-*.rpm
