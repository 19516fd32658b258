# adl_place_units(COMPONENT FILE...): units of systemd name the program by its place, which `cmake --install --prefix` may decide
# only when it installs. CPack installs to a folder of its own, from which files move to the place that was configured.
function(adl_place_units component)
  foreach(unit ${ARGN})
    install(CODE "
    if(NOT CMAKE_INSTALL_PREFIX MATCHES _CPack_Packages)
      set(unit \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${unit}\")
      file(READ \"\${unit}\" text)
      string(REPLACE \"${CMAKE_INSTALL_PREFIX}/\" \"\${CMAKE_INSTALL_PREFIX}/\" text \"\${text}\")
      file(WRITE \"\${unit}\" \"\${text}\")
    endif()" COMPONENT ${component})
  endforeach()
endfunction()
