package dev.signet.client.pure;

/** The engine threw, trapped, or has no memory left. It is dropped. */
final class EngineException extends RuntimeException {
  private static final long serialVersionUID = 1;

  EngineException(String message) {
    super(message);
  }
}
