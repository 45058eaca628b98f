package dev.signet.client.pure;

import com.google.protobuf.ByteString;
import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.EffectFailure;
import dev.signet.host.v1.StorageReadResult;
import dev.signet.host.v1.StorageRemove;
import dev.signet.host.v1.StorageRemoveResult;
import dev.signet.host.v1.StorageWrite;
import dev.signet.host.v1.StorageWriteResult;
import dev.signet.host.v1.StoreList;
import dev.signet.host.v1.StoreListResult;
import dev.signet.host.v1.StoreOp;
import dev.signet.host.v1.StoreRead;
import dev.signet.host.v1.StoreReadResult;
import dev.signet.host.v1.StoreSpacesResult;
import dev.signet.host.v1.StoreTransact;
import dev.signet.host.v1.StoreTransactResult;
import dev.signet.host.v1.StoreTransactResult.Outcome;
import dev.signet.host.v1.StoredRow;
import dev.signet.host.v1.StoredValue;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The client's data folder: rows and named bytes in one SQLite file, with libsignet's tables. */
final class Folder implements AutoCloseable {
  private static final int BUSY_MS = 10_000, POLL_MS = 20, SCHEMA_VERSION = 1;
  private static final String[] SCHEMA = {
    "CREATE TABLE space (name TEXT NOT NULL PRIMARY KEY, generation INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE sealed (space TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, "
        + "PRIMARY KEY (space, kind, key)) STRICT, WITHOUT ROWID",
    "CREATE TABLE named (name TEXT NOT NULL PRIMARY KEY, revision TEXT NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
    "PRAGMA user_version = 1",
  };
  /** No name of the core has capitals. */
  private static final String KEYS = "KEYS";
  private static final String INSERT_NAMED = "INSERT INTO named (revision, value, name) VALUES (?, ?, ?) ON CONFLICT DO ";
  private static final String INSERT_ROW = "INSERT INTO sealed (space, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT DO ";

  private final Path path;
  private final Database db;

  /** Creates the folder, which only its owner can read. Its parent must exist. */
  Folder(Path path) {
    this.path = path;
    try {
      OwnFiles.createFolder(path);
    } catch (IOException fault) {
      throw HostFailure.io("the data folder cannot be created");
    }
    db = new Database(path.resolve("signet.db"), BUSY_MS);
    try {
      prepare();
    } catch (RuntimeException fault) {
      db.close();
      throw fault;
    }
  }

  Path path() {
    return path;
  }

  private void prepare() {
    for (var setting : new String[] {"journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"}) {
      db.run("PRAGMA " + setting);
    }
    db.within("BEGIN IMMEDIATE", () -> {
      var version = db.number(0, "PRAGMA user_version");
      if (version > SCHEMA_VERSION) {
        throw new HostFailure(BoxFailure.STATE_NEWER_VERSION, "a later version wrote the data folder");
      }
      for (var sql : SCHEMA) {
        if (version == 0) db.run(sql);
      }
      return true;
    });
  }

  StoreReadResult read(StoreRead effect) {
    var result = StoreReadResult.newBuilder();
    db.within("BEGIN", () -> {
      result.setGeneration(db.number(0, "SELECT generation FROM space WHERE name = ?", effect.getSpace()));
      for (var name : effect.getWantedList()) {
        var rows = db.rows(
            "SELECT value FROM sealed WHERE space = ? AND kind = ? AND key = ?",
            effect.getSpace(), name.getTable(), name.getKey());
        var value = StoredValue.newBuilder();
        if (!rows.isEmpty()) value.setExists(true).setValue(ByteString.copyFrom(rows.get(0)[0]));
        result.addValues(value);
      }
      return true;
    });
    return result.build();
  }

  StoreListResult list(StoreList effect) {
    var result = StoreListResult.newBuilder();
    var limit = effect.getLimit() == 0 ? -1 : Integer.toUnsignedLong(effect.getLimit());
    var rows = db.rows(
        "SELECT key, value FROM sealed WHERE space = ? AND kind = ? AND key > ? ORDER BY key LIMIT ?",
        effect.getSpace(), effect.getTable(), effect.getAfter(), limit);
    for (var row : rows) {
      result.addRows(StoredRow.newBuilder()
          .setKeyBytes(ByteString.copyFrom(row[0]))
          .setValue(ByteString.copyFrom(row[1])));
    }
    return result.build();
  }

  StoreSpacesResult spaces() {
    var result = StoreSpacesResult.newBuilder();
    for (var row : db.rows("SELECT name FROM space ORDER BY name")) result.addSpacesBytes(ByteString.copyFrom(row[0]));
    return result.build();
  }

  /** False if a row to create exists. */
  private boolean apply(String transactionSpace, StoreOp op) {
    var space = op.getSpace().isEmpty() ? transactionSpace : op.getSpace();
    return switch (op.getKind()) {
      case PUT -> db.change(INSERT_ROW + "UPDATE SET value = excluded.value",
          space, op.getTable(), op.getKey(), op.getValue().toByteArray()) == 1;
      case CREATE -> db.change(INSERT_ROW + "NOTHING",
          space, op.getTable(), op.getKey(), op.getValue().toByteArray()) == 1;
      case REMOVE -> db.change("DELETE FROM sealed WHERE space = ? AND kind = ? AND key = ?",
          space, op.getTable(), op.getKey()) >= 0;
      default -> throw HostFailure.io("a write of the core has no kind");
    };
  }

  StoreTransactResult transact(StoreTransact effect) {
    var outcome = new Outcome[] {Outcome.OK};
    db.within("BEGIN IMMEDIATE", () -> {
      var expected = effect.getExpectedGeneration();
      var advanced = expected == 0
          ? db.change("INSERT INTO space (name, generation) VALUES (?, 1) ON CONFLICT DO NOTHING", effect.getSpace())
          : db.change("UPDATE space SET generation = generation + 1 WHERE name = ? AND generation = ?",
              effect.getSpace(), expected);
      if (advanced != 1) outcome[0] = Outcome.GENERATION_MISMATCH;
      for (var op : effect.getOpsList()) {
        if (outcome[0] == Outcome.OK && !apply(effect.getSpace(), op)) outcome[0] = Outcome.EXISTS;
      }
      return outcome[0] == Outcome.OK;
    });
    return StoreTransactResult.newBuilder().setOutcome(outcome[0]).build();
  }

  StorageReadResult readNamed(String name) {
    var result = StorageReadResult.newBuilder();
    for (var row : db.rows("SELECT revision, value FROM named WHERE name = ?", name)) {
      result.setRevisionBytes(ByteString.copyFrom(row[0])).setBytes(ByteString.copyFrom(row[1]));
    }
    return result.build();
  }

  StorageWriteResult writeNamed(StorageWrite effect) {
    var revision = HexFormat.of().formatHex(Crypto.random(16));
    var bytes = effect.getBytes().toByteArray();
    var name = effect.getName();
    var changed = new int[1];
    db.within("BEGIN IMMEDIATE", () -> {
      if (!effect.hasExpected()) {
        changed[0] = db.change(INSERT_NAMED + "NOTHING", revision, bytes, name);
      } else if (effect.getExpected().equals("any")) {
        changed[0] = db.change(
            INSERT_NAMED + "UPDATE SET revision = excluded.revision, value = excluded.value", revision, bytes, name);
      } else {
        changed[0] = db.change(
            "UPDATE named SET revision = ?, value = ? WHERE name = ? AND revision = ?",
            revision, bytes, name, effect.getExpected());
      }
      return changed[0] == 1;
    });
    return StorageWriteResult.newBuilder().setRevision(changed[0] == 1 ? revision : "").build();
  }

  StorageRemoveResult removeNamed(StorageRemove effect) {
    var removed = new boolean[1];
    db.within("BEGIN IMMEDIATE", () -> {
      var found = readNamed(effect.getName()).getRevision();
      removed[0] = found.isEmpty() || effect.getExpected().equals("any") || effect.getExpected().equals(found);
      if (removed[0]) db.change("DELETE FROM named WHERE name = ?", effect.getName());
      return true;
    });
    return StorageRemoveResult.newBuilder().setRemoved(removed[0]).build();
  }

  /** The file of a keeper, beside the named bytes. */
  KeyFile.Place keys() {
    return new KeyFile.Place(
        this::readKeys,
        bytes -> db.change("INSERT OR REPLACE INTO named (name, revision, value) VALUES (?, '', ?)", KEYS, bytes));
  }

  private byte @Nullable [] readKeys() {
    var rows = db.rows("SELECT value FROM named WHERE name = ?", KEYS);
    return rows.isEmpty() ? null : rows.get(0)[0];
  }

  /** Runs a change of keys while no other client changes keys. */
  void lockedKeys(Runnable change) {
    try (var lock = new FolderLock(path.resolve("keys.lock.db"))) {
      var end = System.nanoTime() + BUSY_MS * 1_000_000L;
      while (!lock.tryAcquire()) {
        if (System.nanoTime() > end) {
          throw new HostFailure(EffectFailure.Kind.LOCK_BUSY, "another client changes the keys");
        }
        sleep();
      }
      change.run();
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(POLL_MS);
    } catch (InterruptedException unexpected) {
      // Nothing interrupts the client's thread; the wait has an end.
    }
  }

  @Override
  public void close() {
    db.close();
  }
}
