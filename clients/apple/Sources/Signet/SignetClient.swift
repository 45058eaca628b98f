import Foundation
import SwiftProtobuf

/// A client of Signet: it signs in, and exchanges end-to-end encrypted messages.
///
/// It owns one thread, which does all work of the core. Every method may be called from any task. Cancelling a task does not
/// undo its call. A client that nothing refers to is closed; ``close()`` is sooner.
public final class SignetClient: Sendable {
  private let engine: Engine

  private init(engine: Engine) {
    self.engine = engine
  }

  deinit {
    engine.close()
  }

  /// Opens a client, and prepares its data folder.
  ///
  /// - Throws: ``SignetError`` with the reason `INVALID_ARGUMENT` for options that are refused; `SECURE_STORE_UNAVAILABLE`,
  ///   `STORE_UNAVAILABLE` or `STATE_NEWER_VERSION` for a Keychain or a folder that cannot be used.
  public static func open(_ options: SignetOptions) async throws -> SignetClient {
    do {
      try DataFolder.prepare(options.dataFolder)
    } catch {
      throw SignetError(reason: "STORE_UNAVAILABLE", message: "the data folder cannot be created or protected")
    }
    let bytes: [UInt8] = try options.message().serializedBytes()
    return SignetClient(engine: try await Engine.open(bytes, eventCapacity: options.eventCapacity))
  }

  /// The calls that sign in and out.
  public var identity: Identity { Identity(client: self) }

  /// The calls of the messenger. ``Messenger/open(_:)`` comes first.
  public var messenger: Messenger { Messenger(client: self) }

  /// The calls of encrypted backups. ``Messenger/open(_:)`` comes first.
  public var backup: Backup { Backup(client: self) }

  /// The calls that move the history to a new device. ``Messenger/open(_:)`` comes first.
  public var history: History { History(client: self) }

  /// The calls that set where the service wakes up this device. ``Messenger/open(_:)`` comes first.
  public var pushEndpoint: PushEndpoint { PushEndpoint(client: self) }

  /// Previews for a notification, for a notification service extension. It needs no open messenger.
  public var peek: Peek { Peek(client: self) }

  /// Returns what happens from now on: an `AsyncSequence`.
  ///
  /// A reader for which ``SignetOptions/eventCapacity`` events wait gets the error `EVENTS_LAGGED`, and no further event. It
  /// has lost no fact: each event comes after its facts are stored. The sequence ends when the client is closed.
  public func events() -> AsyncThrowingStream<Signet_Client_V1_ClientEvent, Error> {
    engine.events()
  }

  /// Ends the client's requests, and wipes the memory of its core. Calls without a reply fail with the reason `CLOSED`.
  /// Repeated calls do nothing.
  public func close() async {
    let engine = engine
    await withCheckedContinuation { closed in
      // Waits for the current step of the core, so it must not hold up a task.
      DispatchQueue.global().async {
        engine.close()
        closed.resume()
      }
    }
  }

  func call<Response: SwiftProtobuf.Message>(_ method: String, _ request: some SwiftProtobuf.Message) async throws -> Response {
    let reply = try await engine.call(method, try request.serializedBytes())
    do {
      return try Response(serializedBytes: reply)
    } catch {
      throw SignetError(reason: "HOST_REFUSED", message: "libsignet returned a reply that cannot be read")
    }
  }
}
