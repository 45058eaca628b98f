// The client's data folder: rows and named bytes in one SQLite file, and a lock that its processes share.
#pragma once

#include <functional>
#include <optional>

#include "failure.h"
#include "wire.h"

struct sqlite3;
struct sqlite3_stmt;

namespace signet {

class Folder {
 public:
  // Creates the folder, readable by its owner only. Throws Failure.
  explicit Folder(const std::string &path);
  ~Folder();
  Folder(const Folder &) = delete;

  const std::string &path() const { return path_; }

  // Perform the effects of these names, and return an EffectResult. Throw Failure and Malformed.
  Bytes store_read(View effect);
  Bytes store_list(View effect);
  Bytes store_spaces();
  Bytes store_transact(View effect);
  Bytes storage_read(View effect);
  Bytes storage_write(View effect);
  Bytes storage_remove(View effect);

  // The file of a passphrase box, beside the named bytes.
  std::optional<Bytes> read_keys();
  void write_keys(View file);
  // Runs a change of keys while no other process changes keys.
  void locked(const std::function<void()> &change);

 private:
  class Statement;
  void run(const char *sql);
  void prepare_file();
  // Runs one transaction. Without true from `work` it is rolled back.
  void within(const char *begin, const std::function<bool()> &work);
  bool apply(const std::string &space, View op);

  std::string path_;
  sqlite3 *db_ = nullptr;
};

}  // namespace signet
