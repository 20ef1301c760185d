#!/bin/sh
# Installs the files of this folder, as root. PREFIX=/somewhere installs below another root, and starts nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${PREFIX:-}
(cd "$here" && find usr -type f) | while read -r file; do
    mode=644
    [ "$file" = usr/bin/hustings ] && mode=755
    install -D -m "$mode" "$here/$file" "$root/$file"
done
if [ -z "$root" ]; then
    sh "$here/postinst" configure ""
    echo "Installed. Copy a member's folder to /etc/hustings, then: systemctl start hustings"
fi
