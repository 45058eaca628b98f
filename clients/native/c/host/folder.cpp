#include "folder.h"

#include <sqlite3.h>

#include <chrono>
#include <thread>

#include "crypto.h"
#include "os.h"

namespace signet {

namespace {

constexpr int kBusyMs = 10000, kSchemaVersion = 1;
constexpr const char *kSchema = R"(
  CREATE TABLE space (name TEXT NOT NULL PRIMARY KEY, generation INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE sealed (
    space TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (space, kind, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE named (name TEXT NOT NULL PRIMARY KEY, revision TEXT NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 1;
)";
// No name of the core has capitals.
const std::string kKeysName = "KEYS";

Failure io(const std::string &what) { return Failure(Fault::kIo, what); }

std::string hex(View bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size; i++) {
    out += "0123456789abcdef"[bytes.data[i] >> 4];
    out += "0123456789abcdef"[bytes.data[i] & 15];
  }
  return out;
}

Bytes result(uint32_t field, const Writer &message) { return Writer().message(field, message).take(); }

}  // namespace

class Folder::Statement {
 public:
  Statement(sqlite3 *db, const char *sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) throw io(sqlite3_errmsg(db));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement &) = delete;

  Statement &text(View value) {
    check(sqlite3_bind_text(statement_, ++bound_, value.empty() ? "" : reinterpret_cast<const char *>(value.data),
                            static_cast<int>(value.size), SQLITE_TRANSIENT));
    return *this;
  }
  Statement &blob(View value) {
    check(value.empty() ? sqlite3_bind_zeroblob(statement_, ++bound_, 0)
                        : sqlite3_bind_blob64(statement_, ++bound_, value.data, value.size, SQLITE_TRANSIENT));
    return *this;
  }
  Statement &number(int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  // True for a row.
  bool step() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) throw io(sqlite3_errmsg(db_));
    return status == SQLITE_ROW;
  }
  // Runs a statement without rows. Returns the number of changed rows.
  int change() {
    step();
    return sqlite3_changes(db_);
  }
  View column(int i) const {
    const void *bytes = sqlite3_column_blob(statement_, i);
    return View(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, i)));
  }
  int64_t count(int i) const { return sqlite3_column_int64(statement_, i); }

 private:
  void check(int status) {
    if (status != SQLITE_OK) throw io(sqlite3_errmsg(db_));
  }
  sqlite3 *db_;
  sqlite3_stmt *statement_ = nullptr;
  int bound_ = 0;
};

Folder::Folder(const std::string &path) : path_(path) {
  os::make_folder(path);
  const std::string file = path + "/signet.db";
  // SQLite gives the files beside it the same mode.
  os::File(file, os::File::Use::kShare);
  if (sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr) != SQLITE_OK) {
    sqlite3_close(db_);
    throw io("the data folder's file cannot be opened");
  }
  try {
    prepare_file();
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
}

Folder::~Folder() { sqlite3_close(db_); }

void Folder::run(const char *sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw io(sqlite3_errmsg(db_));
}

void Folder::prepare_file() {
  sqlite3_busy_timeout(db_, kBusyMs);
  run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;");
  within("BEGIN IMMEDIATE", [&] {
    Statement version(db_, "PRAGMA user_version");
    version.step();
    if (version.count(0) > kSchemaVersion) throw Failure(BoxFault::kNewer, "a later version wrote the data folder");
    if (version.count(0) == 0) run(kSchema);
    return true;
  });
}

void Folder::within(const char *begin, const std::function<bool()> &work) {
  run(begin);
  try {
    run(work() ? "COMMIT" : "ROLLBACK");
  } catch (...) {
    if (!sqlite3_get_autocommit(db_)) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

Bytes Folder::store_read(View effect) {
  std::string space;
  std::vector<View> wanted;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) space = in.text();
    if (in.field() == 2) wanted.push_back(in.bytes());
  }
  Writer out;
  within("BEGIN", [&] {
    Statement generation(db_, "SELECT generation FROM space WHERE name = ?");
    if (generation.text(View(space)).step()) out.number(1, static_cast<uint64_t>(generation.count(0)));
    for (const View name : wanted) {
      std::string table, key;
      for (Reader in(name); in.next();) {
        if (in.field() == 1) table = in.text();
        if (in.field() == 2) key = in.text();
      }
      Statement row(db_, "SELECT value FROM sealed WHERE space = ? AND kind = ? AND key = ?");
      row.text(View(space)).text(View(table)).text(View(key));
      Writer value;
      if (row.step()) value.number(1, 1).bytes(2, row.column(0));
      out.message(2, value);
    }
    return true;
  });
  return result(3, out);
}

Bytes Folder::store_list(View effect) {
  std::string space, table;
  std::optional<std::string> after;
  int64_t limit = 0;
  for (Reader in(effect); in.next();) {
    switch (in.field()) {
      case 1: space = in.text(); break;
      case 2: table = in.text(); break;
      case 3: after = in.text(); break;
      case 4: limit = static_cast<int64_t>(in.number()); break;
    }
  }
  Writer out;
  Statement rows(db_, "SELECT key, value FROM sealed WHERE space = ? AND kind = ? AND key > ? ORDER BY key LIMIT ?");
  rows.text(View(space)).text(View(table)).text(View(after.value_or(""))).number(limit == 0 ? -1 : limit);
  while (rows.step()) out.message(1, Writer().bytes(1, rows.column(0)).bytes(2, rows.column(1)));
  return result(4, out);
}

Bytes Folder::store_spaces() {
  Writer out;
  Statement spaces(db_, "SELECT name FROM space ORDER BY name");
  while (spaces.step()) out.present(1, spaces.column(0));
  return result(5, out);
}

// False if a row to create exists.
bool Folder::apply(const std::string &transaction_space, View op) {
  uint64_t kind = 0;
  std::string space, table, key;
  View value;
  for (Reader in(op); in.next();) {
    switch (in.field()) {
      case 1: kind = in.number(); break;
      case 2: space = in.text(); break;
      case 3: table = in.text(); break;
      case 4: key = in.text(); break;
      case 5: value = in.bytes(); break;
    }
  }
  if (space.empty()) space = transaction_space;
  constexpr const char *kSql[] = {
      "INSERT INTO sealed (space, kind, key, value) VALUES (?, ?, ?, ?) "
      "ON CONFLICT DO UPDATE SET value = excluded.value",
      "INSERT INTO sealed (space, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
      "DELETE FROM sealed WHERE space = ? AND kind = ? AND key = ?",
  };
  if (kind < 1 || kind > 3) throw Malformed();
  Statement write(db_, kSql[kind - 1]);
  write.text(View(space)).text(View(table)).text(View(key));
  if (kind != 3) write.blob(value);
  return write.change() == 1 || kind != 2;
}

Bytes Folder::store_transact(View effect) {
  std::string space;
  uint64_t expected = 0;
  std::vector<View> ops;
  for (Reader in(effect); in.next();) {
    switch (in.field()) {
      case 1: space = in.text(); break;
      case 2: expected = in.number(); break;
      case 3: ops.push_back(in.bytes()); break;
    }
  }
  uint64_t outcome = 1;
  within("BEGIN IMMEDIATE", [&] {
    Statement advance(db_, expected == 0 ? "INSERT INTO space (name, generation) VALUES (?, 1) ON CONFLICT DO NOTHING"
                                         : "UPDATE space SET generation = generation + 1 WHERE name = ? AND generation = ?");
    advance.text(View(space));
    if (expected != 0) advance.number(static_cast<int64_t>(expected));
    if (advance.change() != 1) {
      outcome = 2;
      return false;
    }
    for (const View op : ops) {
      if (apply(space, op)) continue;
      outcome = 3;
      return false;
    }
    return true;
  });
  return result(6, Writer().number(1, outcome));
}

Bytes Folder::storage_read(View effect) {
  std::string name;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) name = in.text();
  }
  Statement row(db_, "SELECT revision, value FROM named WHERE name = ?");
  Writer out;
  if (row.text(View(name)).step()) out.bytes(1, row.column(0)).bytes(2, row.column(1));
  return result(7, out);
}

Bytes Folder::storage_write(View effect) {
  std::string name;
  View value;
  std::optional<std::string> expected;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) name = in.text();
    if (in.field() == 2) value = in.bytes();
    if (in.field() == 3) expected = in.text();
  }
  std::string revision = hex(crypto::random(16));
  within("BEGIN IMMEDIATE", [&] {
    const char *sql = !expected ? "INSERT INTO named (revision, value, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
                      : *expected == "any"
                          ? "INSERT INTO named (revision, value, name) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                            "revision = excluded.revision, value = excluded.value"
                          : "UPDATE named SET revision = ?, value = ? WHERE name = ? AND revision = ?";
    Statement write(db_, sql);
    write.text(View(revision)).blob(value).text(View(name));
    if (expected && *expected != "any") write.text(View(*expected));
    if (write.change() == 1) return true;
    revision.clear();
    return false;
  });
  return result(8, Writer().bytes(1, View(revision)));
}

Bytes Folder::storage_remove(View effect) {
  std::string name, expected;
  for (Reader in(effect); in.next();) {
    if (in.field() == 1) name = in.text();
    if (in.field() == 2) expected = in.text();
  }
  bool removed = true;
  within("BEGIN IMMEDIATE", [&] {
    Statement row(db_, "SELECT revision FROM named WHERE name = ?");
    if (row.text(View(name)).step()) removed = expected == "any" || row.column(0).equals(View(expected));
    if (removed) Statement(db_, "DELETE FROM named WHERE name = ?").text(View(name)).change();
    return true;
  });
  return result(9, Writer().number(1, removed));
}

std::optional<Bytes> Folder::read_keys() {
  Statement row(db_, "SELECT value FROM named WHERE name = ?");
  if (!row.text(View(kKeysName)).step()) return std::nullopt;
  return row.column(0).copy();
}

void Folder::write_keys(View file) {
  Statement(db_, "INSERT OR REPLACE INTO named (name, revision, value) VALUES (?, '', ?)")
      .text(View(kKeysName))
      .blob(file)
      .change();
}

void Folder::locked(const std::function<void()> &change) {
  // Released when it is closed.
  const os::File lock(path_ + "/keys.lock", os::File::Use::kShare);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyMs);
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() > end) throw Failure(Fault::kLockBusy, "another process changes the keys");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  change();
}

}  // namespace signet
