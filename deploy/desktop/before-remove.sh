#!/bin/sh
# Run as root before the deb or rpm package is removed; "upgrade" and 1 mean that a newer version takes its place.
case "$1" in
  remove | 0) ;;
  *) exit 0 ;;
esac

# Removes "Start at login" of every user, as that user: a link in a home directory must lead root nowhere.
entry='.config/autostart/io.github.inglenook.desktop'
getent passwd | while IFS=: read -r name _ _ _ _ home _; do
  if [ -f "$home/$entry" ] && grep -q '"/opt/Inglenook/' "$home/$entry"; then
    runuser -u "$name" -- rm -f -- "$home/$entry" || true
  fi
done
exit 0
