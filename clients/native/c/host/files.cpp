#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace signet {

namespace {

constexpr uint64_t kMaxRead = 64u << 20;

struct File {
  int fd;
  explicit File(int fd) : fd(fd) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File &) = delete;
};

Failure refusal() {
  if (errno == ENOENT) return Failure(Fault::kFileState, "the file does not exist");
  if (errno == EEXIST) return Failure(Fault::kFileState, "the file exists");
  return Failure(Fault::kIo, "the file cannot be used");
}

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
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) throw refusal();
  Bytes bytes(length);
  size_t done = 0;
  while (done < length) {
    const ssize_t count = pread(file.fd, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw refusal();
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
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
  const int flags = O_WRONLY | O_CLOEXEC | (offset == 0 ? O_CREAT | O_EXCL : 0);
  const File file(open(path.c_str(), flags, 0600));
  if (file.fd < 0) throw refusal();
  struct stat state;
  if (fstat(file.fd, &state) != 0) throw refusal();
  if (static_cast<uint64_t>(state.st_size) != offset) throw Failure(Fault::kFileState, "another program changed the file");
  for (size_t done = 0; done < bytes.size;) {
    const ssize_t count = pwrite(file.fd, bytes.data + done, bytes.size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw refusal();
    done += static_cast<size_t>(count);
  }
  if (is_last && fsync(file.fd) != 0) throw refusal();
  return Writer().message(13, Writer()).take();
}

Bytes file_info(View effect) {
  std::string path;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) path = in.text();
  }
  struct stat state;
  if (stat(path.c_str(), &state) != 0) throw refusal();
#ifdef __APPLE__
  const struct timespec time = state.st_mtimespec;
#else
  const struct timespec time = state.st_mtim;
#endif
  const uint64_t changed = static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_nsec) / 1000000;
  return Writer().message(12, Writer().number(1, static_cast<uint64_t>(state.st_size)).number(2, changed)).take();
}

}  // namespace signet
