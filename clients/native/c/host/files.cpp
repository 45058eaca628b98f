#include "files.h"

#include "os.h"

namespace signet {

namespace {

constexpr uint64_t kMaxRead = 64u << 20;

}  // namespace

Bytes file_read(View effect) {
  std::string path;
  uint64_t offset = 0, length = 0;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) path = in.text();
    if (in.field() == 2) offset = in.number();
    if (in.field() == 3) length = in.number();
  }
  if (length > kMaxRead) throw Malformed();
  Bytes bytes(length);
  bytes.resize(os::File(path, os::File::Use::kRead).read(offset, bytes.data(), length));
  return Writer().message(11, Writer().bytes(1, bytes)).take();
}

Bytes file_write(View effect) {
  std::string path;
  uint64_t offset = 0;
  View bytes;
  bool is_last = false;
  for (Reader in(effect); in.next();) {
    switch (in.field()) {
      case 1: path = in.text(); break;
      case 2: offset = in.number(); break;
      case 3: bytes = in.bytes(); break;
      case 4: is_last = in.flag(); break;
    }
  }
  const os::File file(path, offset == 0 ? os::File::Use::kCreate : os::File::Use::kWrite);
  if (file.size() != offset) throw Failure(Fault::kFileState, "another program changed the file");
  file.write(offset, bytes);
  if (is_last) file.sync();
  return Writer().message(13, Writer()).take();
}

Bytes file_info(View effect) {
  std::string path;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) path = in.text();
  }
  const os::FileInfo info = os::file_info(path);
  return Writer().message(12, Writer().number(1, info.size).number(2, info.changed_ms)).take();
}

}  // namespace signet
