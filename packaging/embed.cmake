# embed.cmake: writes OUT, a C file that holds the bytes of IN as `const unsigned char NAME[]` and `const size_t NAME_size`.
# cmake -DIN=file -DOUT=file.c -DNAME=name -DHEADER=header.h -P embed.cmake
file(READ "${IN}" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {\n${bytes}\n};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
