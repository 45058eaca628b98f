#ifndef _WIN32

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>

#include "os.h"

namespace signet::os {

namespace {

Failure refusal() {
  if (errno == ENOENT) return Failure(Fault::kFileState, "the file does not exist");
  if (errno == EEXIST) return Failure(Fault::kFileState, "the file exists");
  return Failure(Fault::kIo, "the file cannot be used");
}

int flags_of(File::Use use) {
  switch (use) {
    case File::Use::kRead: return O_RDONLY;
    case File::Use::kCreate: return O_WRONLY | O_CREAT | O_EXCL;
    case File::Use::kWrite: return O_WRONLY;
    default: return O_RDWR | O_CREAT;
  }
}

int descriptor(intptr_t handle) { return static_cast<int>(handle); }

}  // namespace

File::File(const std::string &path, Use use) : handle_(open(path.c_str(), flags_of(use) | O_CLOEXEC, 0600)) {
  if (handle_ < 0) throw refusal();
}

File::~File() { close(descriptor(handle_)); }

size_t File::read(uint64_t offset, uint8_t *into, size_t length) const {
  size_t done = 0;
  while (done < length) {
    const ssize_t count = pread(descriptor(handle_), into + done, length - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw refusal();
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

void File::write(uint64_t offset, View bytes) const {
  for (size_t done = 0; done < bytes.size;) {
    const ssize_t count = pwrite(descriptor(handle_), bytes.data + done, bytes.size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw refusal();
    done += static_cast<size_t>(count);
  }
}

uint64_t File::size() const {
  struct stat state;
  if (fstat(descriptor(handle_), &state) != 0) throw refusal();
  return static_cast<uint64_t>(state.st_size);
}

void File::sync() const {
  if (fsync(descriptor(handle_)) != 0) throw refusal();
}

bool File::try_lock() const { return flock(descriptor(handle_), LOCK_EX | LOCK_NB) == 0; }

void File::unlock() const { flock(descriptor(handle_), LOCK_UN); }

FileInfo file_info(const std::string &path) {
  struct stat state;
  if (stat(path.c_str(), &state) != 0) throw refusal();
#ifdef __APPLE__
  const struct timespec time = state.st_mtimespec;
#else
  const struct timespec time = state.st_mtim;
#endif
  const uint64_t changed = static_cast<uint64_t>(time.tv_sec) * 1000 + static_cast<uint64_t>(time.tv_nsec) / 1000000;
  return {static_cast<uint64_t>(state.st_size), changed};
}

void make_folder(const std::string &path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw Failure(Fault::kIo, "the folder cannot be created");
}

std::string name() {
  struct utsname system;
  if (uname(&system) != 0) return "posix";
  std::string out(system.sysname);
  for (char &c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

}  // namespace signet::os

#endif
