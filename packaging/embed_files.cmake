# embed_files.cmake: writes OUT, a C file with the table adl_shipped_files of src/scenario/shipped.h. FILES are paths below ROOT,
# with commas between them.
# cmake -DROOT=folder -DFILES=a,b/c -DOUT=file.c -P embed_files.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(entries "")
set(count 0)
foreach(path IN LISTS FILES)
  file(READ "${ROOT}/${path}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char text_${count}[] = {\n${bytes}0};\n") # a zero more: it ends as a string does
  string(APPEND entries "    {\"${path}\", text_${count}, sizeof text_${count} - 1},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUT}" "#include \"scenario/shipped.h\"\n\n${arrays}\nconst struct adl_shipped_file adl_shipped_files[] = {\n${entries}};\nconst size_t adl_shipped_file_count = ${count};\n")
