import Foundation

/// A failed call. Its texts have no secret and no plaintext.
///
/// This library adds three reasons of the kind `host` to those of the contract: `CLOSED` after ``SignetClient/close()``;
/// `STOPPED` after a fault of the core, with stored data intact; `EVENTS_LAGGED` for a reader of events that is too slow.
public struct SignetError: Error, Sendable {
  /// The kind of the error.
  public let kind: Signet_Client_V1_ClientFailure.Kind
  /// The typed reason, such as `CONVERSATION_UNKNOWN`.
  public let reason: String
  /// A text for the developer: the fault, and the remedy.
  public let message: String
  /// The gRPC status code of a refusal by a service; zero for none.
  public let code: UInt32
  /// Values of the refused request.
  public let metadata: [String: String]
  /// The wait in seconds that the service demands; nil for none.
  public let retryAfter: TimeInterval?

  init(_ failure: Signet_Client_V1_ClientFailure) {
    kind = failure.kind
    reason = failure.reason
    message = failure.message
    code = failure.code
    metadata = failure.metadata
    retryAfter = failure.hasRetryAfterMs ? TimeInterval(failure.retryAfterMs) / 1000 : nil
  }

  init(reason: String, message: String) {
    var failure = Signet_Client_V1_ClientFailure()
    failure.kind = .host
    failure.reason = reason
    failure.message = message
    self.init(failure)
  }

  /// For bytes that are no ClientFailure, an error that says so.
  static func parse(_ bytes: [UInt8]) -> SignetError {
    guard let failure = try? Signet_Client_V1_ClientFailure(serializedBytes: bytes) else {
      return SignetError(reason: "HOST_REFUSED", message: "libsignet returned a failure that cannot be read")
    }
    return SignetError(failure)
  }

  static let closed = SignetError(reason: "CLOSED", message: "the client is closed: open another one")
  static let stopped = SignetError(reason: "STOPPED", message: "the core stopped: close this client, and open another one")
  static let lagged = SignetError(
    reason: "EVENTS_LAGGED", message: "the reader of events is too slow: read the timelines, and ask for events anew")
}

extension SignetError: LocalizedError {
  public var errorDescription: String? { "\(reason): \(message)" }
}
