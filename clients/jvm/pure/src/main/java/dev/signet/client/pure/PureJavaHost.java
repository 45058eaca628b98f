package dev.signet.client.pure;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import dev.signet.client.CoreHost;
import dev.signet.client.SecretBox;
import dev.signet.client.SignetException;
import dev.signet.client.v1.ClientFailure;
import dev.signet.client.v1.ClientFailure.Kind;
import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.HostInfo;
import dev.signet.host.v1.NativeOptions;
import dev.signet.host.v1.ProgramBox;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Runs the core in Java, without libsignet: for {@code SignetClient.Builder.coreHost()}. The data folder has libsignet's format.
 *
 * <p>Its keys are under a passphrase, or in a box of the program. It has no Secret Service. The core's memory is an array in
 * the Java heap, which {@code close()} wipes; copies that the collector has made are not wiped.
 */
public final class PureJavaHost implements CoreHost {
  private static final int DEFAULT_MEMORY_MIB = 256, MIN_MEMORY_MIB = 4, MAX_MEMORY_MIB = 512;

  /** A host for any number of clients. The start of a client takes seconds. */
  public PureJavaHost() {}

  static SignetException failure(Kind kind, String reason, String message) {
    var failure = ClientFailure.newBuilder().setKind(kind).setReason(reason).setMessage(message);
    return CoreHost.failureOf(failure.build());
  }

  static SignetException failure(byte[] bytes) {
    try {
      return CoreHost.failureOf(ClientFailure.parseFrom(bytes));
    } catch (InvalidProtocolBufferException malformed) {
      return failure(Kind.HOST, "HOST_REFUSED", "the core returned a failure that cannot be read");
    }
  }

  @Override
  public Core open(byte[] options, @Nullable SecretBox box) {
    try {
      return open(parse(options), box);
    } catch (HostFailure refused) {
      if (refused.box() == BoxFailure.SECURE_STORE_UNAVAILABLE) {
        throw failure(Kind.SECRET_BOX, "SECURE_STORE_UNAVAILABLE", refused.getMessage());
      }
      var isNewer = refused.box() == BoxFailure.STATE_NEWER_VERSION;
      throw failure(Kind.MESSAGING, isNewer ? "STATE_NEWER_VERSION" : "STORE_UNAVAILABLE", refused.getMessage());
    } catch (EngineException fault) {
      throw failure(Kind.INTERNAL, "INTERNAL", fault.getMessage());
    } catch (LinkageError fault) {
      throw failure(Kind.HOST, "LIBRARY_UNAVAILABLE", "the engine cannot be loaded: " + fault);
    }
  }

  /** The passphrase stays in the given array, which the caller wipes. */
  private static NativeOptions parse(byte[] bytes) {
    try {
      var in = UnsafeByteOperations.unsafeWrap(bytes).newCodedInput();
      in.enableAliasing(true);
      return NativeOptions.parseFrom(in);
    } catch (IOException malformed) {
      throw invalid("options are no signet.host.v1.NativeOptions");
    }
  }

  private static SignetException invalid(String message) {
    return failure(Kind.INTERNAL, "INVALID_ARGUMENT", message);
  }

  private static Core open(NativeOptions options, @Nullable SecretBox program) {
    var limit = options.getMemoryLimitMib() == 0 ? DEFAULT_MEMORY_MIB : options.getMemoryLimitMib();
    if (limit < MIN_MEMORY_MIB || limit > MAX_MEMORY_MIB) throw invalid("memory_limit_mib must be between 4 and 512");
    switch (options.getBoxCase()) {
      case PASSPHRASE -> {
        if (options.getPassphrase().getPassphrase().isEmpty()) throw invalid("the passphrase is empty");
      }
      case WRAPPED_BOX -> {
        if (program == null) throw invalid("wrapped_box needs a box of the program");
      }
      case BOX_NOT_SET -> throw invalid("box is required: passphrase or wrapped_box");
      default -> throw new HostFailure(BoxFailure.SECURE_STORE_UNAVAILABLE, "this host has no such secret store");
    }
    var folder = new Folder(Path.of(options.getDataFolder()));
    if (options.hasPassphrase()) {
      var promises = ProgramBox.newBuilder().setBackend("passphrase").setVersion(1).setPersistent(true).build();
      var keeper = new PassphraseKeeper(options.getPassphrase().getPassphrase().toByteArray(), folder.keys());
      return open(options, folder, keeper, promises, limit << 20);
    }
    var keeper = new WrappedKeeper(options.getWrappedBox().getBackend(), program, folder.keys());
    return open(options, folder, keeper, options.getWrappedBox(), limit << 20);
  }

  private static Core open(NativeOptions options, Folder folder, Box.Keeper keeper, ProgramBox promises, int limit) {
    var box = new Box(new Sealing(promises.getBackend(), promises.getVersion()), keeper, folder::lockedKeys);
    var describe = HostInfo.newBuilder()
        .setBoxBackend(promises.getBackend())
        .setBoxVersion(promises.getVersion())
        .setBoxHardware(promises.getHardware())
        .setBoxDeviceBound(promises.getDeviceBound())
        .setBoxPersistent(promises.getPersistent());
    PureCore core = null;
    try {
      core = new PureCore(options, folder, box, describe, limit);
      return core;
    } finally {
      if (core == null) folder.close();
    }
  }
}
