; What the app has left in its user's Windows: "Start at login" and the command "switchyard".
; An update runs the old version's uninstaller as well, and keeps both.
!macro customUnInstall
  ${ifNot} ${isUpdated}
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "io.github.switchyard"
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "io.github.switchyard"
    Delete "$LOCALAPPDATA\Microsoft\WindowsApps\switchyard.cmd"
  ${endIf}
!macroend
