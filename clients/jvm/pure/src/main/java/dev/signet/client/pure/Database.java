package dev.signet.client.pure;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.sqlite.SQLiteErrorCode;

/** One connection to a SQLite file. A failure is a {@link HostFailure} without the values of the statement. */
final class Database implements AutoCloseable {
  private final Connection connection;

  /**
   * Opens the file, and creates a missing one that only its owner can read. SQLite gives the files beside it the same mode.
   *
   * @param busyMs how long a statement waits for other processes
   */
  Database(Path file, int busyMs) {
    try {
      OwnFiles.createFile(file);
      // As an address, because a path may have a question mark.
      var address = "jdbc:sqlite:file://" + file.toUri().getRawPath();
      connection = DriverManager.getConnection(address);
    } catch (IOException | SQLException fault) {
      throw HostFailure.io("the data folder's file cannot be opened");
    }
    run("PRAGMA busy_timeout = " + busyMs);
  }

  private static HostFailure failed(SQLException fault) {
    return HostFailure.io("SQLite failed with the code " + fault.getErrorCode());
  }

  void run(String sql) {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException fault) {
      throw failed(fault);
    }
  }

  /** Begins an immediate transaction. False if another connection has one. */
  boolean tryBegin() {
    try (var statement = connection.createStatement()) {
      statement.execute("BEGIN IMMEDIATE");
      return true;
    } catch (SQLException fault) {
      if ((fault.getErrorCode() & 0xff) == SQLiteErrorCode.SQLITE_BUSY.code) return false;
      throw failed(fault);
    }
  }

  /** A statement's values: texts, numbers and bytes. */
  private PreparedStatement prepare(String sql, Object... values) throws SQLException {
    var statement = connection.prepareStatement(sql);
    for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
    return statement;
  }

  /** Runs a statement without rows. Returns the number of changed rows. */
  int change(String sql, Object... values) {
    try (var statement = prepare(sql, values)) {
      return statement.executeUpdate();
    } catch (SQLException fault) {
      throw failed(fault);
    }
  }

  /** The rows, each as the bytes of its columns. */
  List<byte[][]> rows(String sql, Object... values) {
    try (var statement = prepare(sql, values); var found = statement.executeQuery()) {
      var columns = found.getMetaData().getColumnCount();
      var rows = new ArrayList<byte[][]>();
      while (found.next()) {
        var row = new byte[columns][];
        for (int i = 0; i < columns; i++) {
          var bytes = found.getBytes(i + 1);
          row[i] = bytes == null ? new byte[0] : bytes;
        }
        rows.add(row);
      }
      return rows;
    } catch (SQLException fault) {
      throw failed(fault);
    }
  }

  /** The number in the first column of the first row; `without` without a row. */
  long number(long without, String sql, Object... values) {
    try (var statement = prepare(sql, values); var found = statement.executeQuery()) {
      return found.next() ? found.getLong(1) : without;
    } catch (SQLException fault) {
      throw failed(fault);
    }
  }

  /** Runs one transaction. Without true from `work` it is rolled back. */
  void within(String begin, BooleanSupplier work) {
    run(begin);
    var isDone = false;
    try {
      isDone = work.getAsBoolean();
      if (isDone) run("COMMIT");
    } catch (RuntimeException fault) {
      isDone = false;
      throw fault;
    } finally {
      if (!isDone) rollBack();
    }
  }

  private void rollBack() {
    try (var statement = connection.createStatement()) {
      statement.execute("ROLLBACK");
    } catch (SQLException ended) {
      // SQLite has rolled back already, such as for a full disk.
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException fault) {
      throw failed(fault);
    }
  }
}
