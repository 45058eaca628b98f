// Files, folders and locks of the operating system. Paths are UTF-8. Other users cannot read what is created here.
#pragma once

#include "bytes.h"
#include "failure.h"

namespace signet::os {

class File {
 public:
  enum class Use {
    kRead,
    kCreate, /* to write; must not exist */
    kWrite,  /* must exist */
    kShare,  /* to read, write and lock; created if it is missing */
  };
  // Throws Failure: kFileState if it is missing or exists, else kIo. So do all others.
  File(const std::string &path, Use use);
  ~File();
  File(const File &) = delete;

  // Returns the number of bytes, which are fewer at the end of the file.
  size_t read(uint64_t offset, uint8_t *into, size_t length) const;
  void write(uint64_t offset, View bytes) const;
  uint64_t size() const;
  // Returns when the bytes are on the medium.
  void sync() const;
  // Locks the file against other handles. Never waits. The lock ends with the process.
  bool try_lock() const;
  void unlock() const;

 private:
  intptr_t handle_;
};

struct FileInfo {
  uint64_t size, changed_ms; /* since the Unix epoch */
};
FileInfo file_info(const std::string &path);

// Creates a folder, unless there is one.
void make_folder(const std::string &path);

// Name of the system in lower case, such as linux.
std::string name();

}  // namespace signet::os
