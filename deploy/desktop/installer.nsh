; What the app has left in its user's Windows: "Start at login".
; An update runs the old version's uninstaller as well, and keeps it.
!macro customUnInstall
  ${ifNot} ${isUpdated}
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "io.github.inglenook"
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "io.github.inglenook"
  ${endIf}
!macroend
