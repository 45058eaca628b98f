package dev.signet.client;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import com.google.protobuf.UnsafeByteOperations;
import dev.signet.client.v1.ClientEvent;
import dev.signet.client.v1.IdentityOptions;
import dev.signet.host.v1.DpapiBox;
import dev.signet.host.v1.NativeOptions;
import dev.signet.host.v1.PassphraseBox;
import dev.signet.host.v1.ProgramBox;
import dev.signet.host.v1.SecretServiceBox;
import java.lang.ref.Cleaner;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import org.jspecify.annotations.Nullable;

/**
 * A client of Signet. It owns one thread, which does all work of the core; every method may be called from any thread.
 *
 * <p>Futures complete, and events arrive, on the executor of the builder, never on the client's thread. Cancelling a future
 * does not undo its call. An unanswered call and a subscription keep the client open. A client that nothing refers to is
 * closed after a garbage collection; {@link #close()} is sooner.
 *
 * <p>The {@code toString()} of protobuf messages has their fields, passwords and plaintext included: log none of them.
 */
public final class SignetClient implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final Engine engine;
  private final Cleaner.Cleanable closing;
  private final Identity identity = new Identity(this);
  private final Messenger messenger = new Messenger(this);
  private final Backup backup = new Backup(this);
  private final History history = new History(this);
  private final PushEndpoint pushEndpoint = new PushEndpoint(this);
  private final Peek peek = new Peek(this);

  private final @Nullable WatchedBox box;

  private SignetClient(Engine engine, @Nullable WatchedBox box) {
    this.engine = engine;
    this.box = box;
    this.closing = CLEANER.register(this, engine::close);
  }

  /**
   * Begins to configure a client.
   *
   * @param identity the app and its auth service
   * @param dataFolder the folder of the client's data, which processes may share. Its parent must exist
   * @return a builder for one client
   */
  public static Builder builder(IdentityOptions identity, Path dataFolder) {
    return new Builder(identity, dataFolder);
  }

  /**
   * Returns the calls that sign in and out.
   *
   * @return the same object each time
   */
  public Identity identity() {
    return identity;
  }

  /**
   * Returns the calls of the messenger. {@link Messenger#open} comes first.
   *
   * @return the same object each time
   */
  public Messenger messenger() {
    return messenger;
  }

  /**
   * Returns the calls of encrypted backups.
   *
   * @return the same object each time
   */
  public Backup backup() {
    return backup;
  }

  /**
   * Returns the calls that move the history to a new device of the user.
   *
   * @return the same object each time
   */
  public History history() {
    return history;
  }

  /**
   * Returns the calls that set where the service wakes up this device.
   *
   * @return the same object each time
   */
  public PushEndpoint pushEndpoint() {
    return pushEndpoint;
  }

  /**
   * Returns the calls that read previews for a notification. They need no open messenger.
   *
   * @return the same object each time
   */
  public Peek peek() {
    return peek;
  }

  /**
   * Publishes what happens from the subscription on.
   *
   * <p>A subscriber that has not requested {@link Builder#eventCapacity} waiting events gets {@code onError} with the reason
   * EVENTS_LAGGED, and no further event. It has lost no fact: each event comes after its facts are stored, so it subscribes
   * anew and reads the timelines. After {@link #close()} a subscriber gets {@code onComplete}; events that it has not got by
   * then are dropped.
   *
   * @return a publisher for any number of subscribers
   */
  public Flow.Publisher<ClientEvent> events() {
    return subscriber -> engine.events().subscribe(this, subscriber);
  }

  /**
   * Returns the refusal of the program's secret box at its last call. A sign-in that cannot be opened is only {@code
   * STORE_FAILED} in {@link Identity}: this is why.
   *
   * @return null if the last call succeeded, or without such a box
   */
  public @Nullable SecretBoxException secretBoxRefusal() {
    return box == null ? null : box.refusal();
  }

  /**
   * Ends the client's requests, and wipes the memory of its core. Calls without a reply fail with the reason CLOSED. Waits
   * for the current step of the core. Repeated calls do nothing.
   */
  @Override
  public void close() {
    closing.clean();
  }

  <T> CompletableFuture<T> call(String method, MessageLite request, Parser<T> parser) {
    return engine.call(this, method, Objects.requireNonNull(request, "request"), parser);
  }

  @Override
  public String toString() {
    return engine.isOpen() ? "SignetClient[open]" : "SignetClient[closed]";
  }

  /** Configures one client. The keys that seal its data are chosen once; no box takes the place of another one. */
  public static final class Builder {
    private final NativeOptions.Builder options = NativeOptions.newBuilder();
    private byte @Nullable [] passphrase;
    private @Nullable WatchedBox box;
    private Executor executor = ForkJoinPool.commonPool();
    private int eventCapacity = 1024;
    private CoreHost host = new Libsignet();

    private Builder(IdentityOptions identity, Path dataFolder) {
      options.setIdentity(identity).setDataFolder(dataFolder.toAbsolutePath().toString());
      var system = System.getProperty("os.name").toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "-");
      options.setPlatform("jvm-" + system);
    }

    /**
     * Chooses keys in the Secret Service of a Linux desktop. {@link #open} fails with SECURE_STORE_UNAVAILABLE without one.
     *
     * @return this
     */
    public Builder secretService() {
      options.setSecretService(SecretServiceBox.getDefaultInstance());
      return this;
    }

    /**
     * Chooses keys in a file of the data folder that Windows protects for the signed-in user (DPAPI): every program of the
     * user can have it opened. {@link #open} fails with SECURE_STORE_UNAVAILABLE on another system.
     *
     * @return this
     */
    public Builder dpapi() {
      options.setDpapi(DpapiBox.getDefaultInstance());
      return this;
    }

    /**
     * Chooses keys in a file of the data folder that a passphrase protects (Argon2id with 64 MiB and three passes).
     *
     * @param passphrase not empty; its first use with a data folder determines it. Copied: wipe your array afterwards
     * @return this
     */
    public Builder passphrase(byte[] passphrase) {
      wipe();
      this.passphrase = passphrase.clone();
      var bytes = UnsafeByteOperations.unsafeWrap(this.passphrase);
      options.setPassphrase(PassphraseBox.newBuilder().setPassphrase(bytes));
      return this;
    }

    /**
     * Chooses keys in a file of the data folder that a box of the program wraps.
     *
     * @param box the box, which the client's thread calls. The client keeps a reference until it is closed
     * @return this
     */
    public Builder secretBox(SecretBox box) {
      var promises = box.describe();
      this.box = new WatchedBox(box);
      options.setWrappedBox(ProgramBox.newBuilder()
          .setBackend(promises.backend())
          .setVersion(promises.version())
          .setHardware(promises.isHardware())
          .setDeviceBound(promises.isDeviceBound())
          .setPersistent(promises.isPersistent()));
      return this;
    }

    /**
     * Chooses what runs the core, in the place of libsignet.
     *
     * @param host such as that of the artifact {@code signet-client-pure}
     * @return this
     */
    public Builder coreHost(CoreHost host) {
      this.host = Objects.requireNonNull(host, "host");
      return this;
    }

    /**
     * Trusts a file of PEM certificates in place of the system's.
     *
     * @param file the file
     * @return this
     */
    public Builder trustAnchors(Path file) {
      options.setTrustAnchors(file.toAbsolutePath().toString());
      return this;
    }

    /**
     * Limits the core's memory.
     *
     * @param mebibytes 4 to 512; 256 by default
     * @return this
     */
    public Builder memoryLimit(int mebibytes) {
      options.setMemoryLimitMib(mebibytes);
      return this;
    }

    /**
     * Sets the text that the user's list of devices shows as the platform.
     *
     * @param platform of {@code [a-z0-9._:/-]}; {@code jvm-linux} on Linux by default
     * @return this
     */
    public Builder platform(String platform) {
      options.setPlatform(platform);
      return this;
    }

    /**
     * Sets the executor that completes futures and calls subscribers.
     *
     * @param executor the common pool by default
     * @return this
     */
    public Builder executor(Executor executor) {
      this.executor = Objects.requireNonNull(executor, "executor");
      return this;
    }

    /**
     * Limits the events that wait for one subscriber.
     *
     * @param events at least 1; 1,024 by default
     * @return this
     */
    public Builder eventCapacity(int events) {
      if (events < 1) throw new IllegalArgumentException("events must be at least 1");
      eventCapacity = events;
      return this;
    }

    /**
     * Opens the client, once. Waits for the core's start, which takes some 20 milliseconds.
     *
     * @return the client
     * @throws SignetException with the reason INVALID_ARGUMENT for options that are refused, SECURE_STORE_UNAVAILABLE,
     *     STORE_UNAVAILABLE or STATE_NEWER_VERSION for a box or a folder that cannot be used, or LIBRARY_UNAVAILABLE
     */
    public SignetClient open() {
      try {
        var chosen = options.hasWrappedBox() ? box : null;
        return new SignetClient(new Engine(host, options.build().toByteArray(), chosen, executor, eventCapacity), chosen);
      } finally {
        wipe();
      }
    }

    private void wipe() {
      if (passphrase != null) Arrays.fill(passphrase, (byte) 0);
    }
  }
}
