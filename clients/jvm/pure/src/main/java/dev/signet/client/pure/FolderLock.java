package dev.signet.client.pure;

import java.nio.file.Path;

/**
 * A lock among processes and clients, which ends with the process that holds it. It is a transaction of an empty database:
 * Java's own file locks are those of a process, and end when another channel of the file is closed.
 */
final class FolderLock implements AutoCloseable {
  private final Database database;

  FolderLock(Path file) {
    database = new Database(file, 0);
  }

  /** Never waits. */
  boolean tryAcquire() {
    return database.tryBegin();
  }

  void release() {
    database.run("ROLLBACK");
  }

  @Override
  public void close() {
    database.close();
  }
}
