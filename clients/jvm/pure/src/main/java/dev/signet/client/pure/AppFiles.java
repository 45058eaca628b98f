package dev.signet.client.pure;

import com.google.protobuf.ByteString;
import dev.signet.host.v1.EffectFailure;
import dev.signet.host.v1.FileInfo;
import dev.signet.host.v1.FileInfoResult;
import dev.signet.host.v1.FileRead;
import dev.signet.host.v1.FileReadResult;
import dev.signet.host.v1.FileWrite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/** Files that the app named, for attachments and backups. */
final class AppFiles {
  private static final int MAX_READ = 64 << 20;

  private AppFiles() {}

  private interface Work<T> {
    T run() throws IOException;
  }

  private static <T> T refusing(Work<T> work) {
    try {
      return work.run();
    } catch (NoSuchFileException missing) {
      throw new HostFailure(EffectFailure.Kind.FILE_STATE, "the file does not exist");
    } catch (FileAlreadyExistsException exists) {
      throw new HostFailure(EffectFailure.Kind.FILE_STATE, "the file exists");
    } catch (IOException | InvalidPathException fault) {
      throw HostFailure.io("the file cannot be used");
    }
  }

  static FileReadResult read(FileRead effect) {
    var length = effect.getLength();
    if (length < 0 || length > MAX_READ) throw HostFailure.io("a read has at most 64 MiB");
    return refusing(() -> {
      try (var file = FileChannel.open(Path.of(effect.getPath()), StandardOpenOption.READ)) {
        var bytes = ByteBuffer.allocate(length);
        while (bytes.hasRemaining() && file.read(bytes, effect.getOffset() + bytes.position()) >= 0) {}
        return FileReadResult.newBuilder().setBytes(ByteString.copyFrom(bytes.flip())).build();
      }
    });
  }

  static void write(FileWrite effect) {
    var isFirst = effect.getOffset() == 0;
    Set<OpenOption> options = isFirst
        ? Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)
        : Set.of(StandardOpenOption.WRITE);
    refusing(() -> {
      var attributes = isFirst ? OwnFiles.only("rw-------") : new java.nio.file.attribute.FileAttribute<?>[0];
      try (var file = FileChannel.open(Path.of(effect.getPath()), options, attributes)) {
        if (file.size() != effect.getOffset()) {
          throw new HostFailure(EffectFailure.Kind.FILE_STATE, "another program changed the file");
        }
        var bytes = effect.getBytes().asReadOnlyByteBuffer();
        while (bytes.hasRemaining()) file.write(bytes, effect.getOffset() + bytes.position());
        if (effect.getIsLast()) file.force(true);
        return file;
      }
    });
  }

  static FileInfoResult info(FileInfo effect) {
    return refusing(() -> {
      var path = Path.of(effect.getPath());
      return FileInfoResult.newBuilder()
          .setSize(Files.size(path))
          .setChangedAtMs(Math.max(0, Files.getLastModifiedTime(path).toMillis()))
          .build();
    });
  }
}
