# The Debian packages, one for each component that is installed; made by packaging/deb.
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# As Debian's own tools do, the maintainer's name comes from the environment.
set(maintainer "adlro maintainers <adlro@example.org>")
if(DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer}")
string(TIMESTAMP deb_date "%a, %d %b %Y 00:00:00 +0000" UTC)
string(TIMESTAMP deb_year "%Y" UTC)
set(about "adlro decides which job runs on which GPU, when and beside whom, in clusters
whose GPUs differ in make, generation and age. One decision core serves a
simulator, a service for a machine with GPUs, and a Slurm cluster.")

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "decides which job runs on which GPU, when and beside whom")

# adl_package(COMPONENT NAME SECTION DEPENDS TEXT): a package with its copyright and changelog.
function(adl_package component name section depends text)
  string(TOUPPER ${component} upper)
  set(dir ${PROJECT_BINARY_DIR}/deb-files/${name})
  file(WRITE ${dir}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: adlro

Files: *
Copyright: ${deb_year} the adlro authors
License: Apache-2.0
 On Debian systems the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${dir}/changelog "adlro (${PROJECT_VERSION}) unstable; urgency=medium

  * What changed is in CHANGELOG.md of the source.

 -- ${maintainer}  ${deb_date}
")
  execute_process(COMMAND gzip -9nf ${dir}/changelog)
  install(FILES ${dir}/copyright ${dir}/changelog.gz DESTINATION share/doc/${name} COMPONENT ${component})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${about}\n\n${text}" PARENT_SCOPE)
endfunction()

set(CPACK_COMPONENTS_ALL "")
adl_package(adlro adlro admin "" "This package has the program and the service.")
file(WRITE ${PROJECT_BINARY_DIR}/deb-files/conffiles "/etc/adlro/adlro.yaml\n")
set(CPACK_DEBIAN_ADLRO_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb-files/conffiles)
adl_package(library libadlro0 libs ""
            "This package has the library that offers the simulator to agents.")
file(WRITE ${PROJECT_BINARY_DIR}/deb-files/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb-files/triggers)
adl_package(development libadlro-dev libdevel "libadlro0 (= ${PROJECT_VERSION})"
            "This package has what programs in C need to use the library.")
adl_package(python python3-adlro python
            "adlro (= ${PROJECT_VERSION}), libadlro0 (= ${PROJECT_VERSION}), python3, python3-numpy"
            "This package has the Python module.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
if(TARGET adlro-slurm)
  adl_package(slurm adlro-slurm admin "adlro (= ${PROJECT_VERSION})"
              "This package has the adapter and what slurmctld needs of it.")
endif()
include(CPack)
