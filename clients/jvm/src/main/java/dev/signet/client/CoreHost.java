package dev.signet.client;

import dev.signet.client.v1.ClientFailure;
import org.jspecify.annotations.Nullable;

/**
 * Runs the core of a client: its engine, its cryptography and its effects. libsignet is the host of a client whose program
 * names none by {@link SignetClient.Builder#coreHost}. No host takes the place of another one.
 *
 * <p>An app implements none: this is the interface to the library's other artifacts, and it changes with them.
 */
public interface CoreHost {
  /**
   * Opens a core. The client's thread calls this and {@link Core#next}. The thread has a stack of 16 MiB.
   *
   * @param options a signet.host.v1.NativeOptions, which the caller wipes after the return
   * @param box the box of the option {@code wrapped_box}; null for another choice
   * @return the core
   * @throws SignetException if the options are refused, or a box or a folder cannot be used
   */
  Core open(byte[] options, @Nullable SecretBox box);

  /** An open core. */
  interface Core {
    /**
     * Queues a call. May be called from any thread.
     *
     * @param id positive, and new
     * @param method such as {@code MessengerService/Send}
     * @param request the request, which the caller wipes after the return
     * @throws SignetException if the core is closed or has stopped, or the request is too long
     */
    void call(long id, String method, byte[] request);

    /**
     * Works until there is an output.
     *
     * @return the output; null once the core is closed
     * @throws SignetException with the reason STOPPED after a fault of the core
     */
    @Nullable Output next();

    /** Lets {@link #next} return null. May be called from any thread, and again. */
    void close();

    /** Wipes the core's memory and ends its effects. The client's thread calls this last, and once. */
    void release();
  }

  /**
   * An output of the core.
   *
   * @param kind the number of a signet.host.v1.OutputKind: REPLY, REPLY_FAILURE or EVENT
   * @param id the call's; zero for an event
   * @param bytes the message, which the client wipes
   */
  record Output(int kind, long id, byte[] bytes) {}

  /**
   * Returns a failure for a caller of the client.
   *
   * @param failure its kind, reason and message
   * @return the exception
   */
  static SignetException failureOf(ClientFailure failure) {
    return SignetException.of(failure);
  }
}
