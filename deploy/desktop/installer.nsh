; What the app has left in its user's Windows: "Start at login" and the command "inglenook".
; An update runs the old version's uninstaller as well, and keeps both.
!macro customUnInstall
  ${ifNot} ${isUpdated}
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "io.github.inglenook"
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "io.github.inglenook"
    Delete "$LOCALAPPDATA\Microsoft\WindowsApps\inglenook.cmd"
  ${endIf}
!macroend
