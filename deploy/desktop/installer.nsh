!include "getProcessInfo.nsh"
Var pid

; Before the app is replaced or removed it is asked to quit, which lets running requests finish. What still runs after
; half a minute is ended by electron-builder's own check.
!macro customCheckAppRunning
  !insertmacro IS_POWERSHELL_AVAILABLE
  !insertmacro FIND_PROCESS "${APP_EXECUTABLE_FILENAME}" $R0
  ${if} $R0 == 0
    Exec '"$INSTDIR\${APP_EXECUTABLE_FILENAME}" --action=quit'
    ${for} $R1 1 15
      Sleep 2000
      !insertmacro FIND_PROCESS "${APP_EXECUTABLE_FILENAME}" $R0
      ${if} $R0 != 0
        ${exitFor}
      ${endIf}
    ${next}
  ${endIf}
  !insertmacro _CHECK_APP_RUNNING
!macroend

; What the app has left in its user's Windows: "Start at login".
; An update runs the old version's uninstaller as well, and keeps it.
!macro customUnInstall
  ${ifNot} ${isUpdated}
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "io.github.inglenook"
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "io.github.inglenook"
  ${endIf}
!macroend
