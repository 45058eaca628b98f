import CSignet
import Foundation

/// One open client of libsignet: its thread, its calls without a reply, its readers of events.
///
/// `lock` guards every variable. The thread alone is in `signet_next`.
final class Engine: @unchecked Sendable {
  typealias Event = Signet_Client_V1_ClientEvent
  private typealias Reader = AsyncThrowingStream<Event, Error>.Continuation

  /// libsignet requires 4 MiB.
  private static let stackBytes = 8 << 20

  private let client: OpaquePointer
  private let eventCapacity: Int
  private let lock = NSLock()
  private var lastId: UInt64 = 0
  private var calls: [UInt64: CheckedContinuation<[UInt8], Error>] = [:]
  private var readers: [UInt64: Reader] = [:]
  private var end: SignetError?

  /// Opens a client on a thread of its own.
  ///
  /// - Throws: ``SignetError``.
  static func open(_ options: [UInt8], eventCapacity: Int) async throws -> Engine {
    try await withCheckedThrowingContinuation { opened in
      let thread = Thread {
        do {
          let engine = try Engine(options, eventCapacity: eventCapacity)
          opened.resume(returning: engine)
          engine.run()
        } catch {
          opened.resume(throwing: error)
        }
      }
      thread.name = "signet-client"
      thread.stackSize = stackBytes
      thread.start()
    }
  }

  private init(_ options: [UInt8], eventCapacity: Int) throws {
    var opened: OpaquePointer?
    var failure = signet_buf()
    let status = signet_open(SIGNET_ABI_VERSION, options, options.count, nil, &opened, &failure)
    let bytes = Engine.take(&failure)
    guard status == SIGNET_OK, let opened else { throw SignetError.parse(bytes) }
    client = opened
    self.eventCapacity = eventCapacity
  }

  /// Copies and releases bytes of the library, which wipes its own.
  private static func take(_ buffer: inout signet_buf) -> [UInt8] {
    let bytes = Array(UnsafeBufferPointer(start: buffer.data, count: buffer.length))
    signet_buf_free(&buffer)
    return bytes
  }

  /// Returns the reply of a call.
  func call(_ method: String, _ request: [UInt8]) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { start(method, request, $0) }
  }

  private func start(_ method: String, _ request: [UInt8], _ call: CheckedContinuation<[UInt8], Error>) {
    lock.lock()
    lastId += 1
    let id = lastId
    let ended = end
    if ended == nil { calls[id] = call }
    lock.unlock()
    if let ended { return call.resume(throwing: ended) }
    let status = signet_call(client, id, method, request, request.count)
    if status != SIGNET_OK { finish(id, .failure(Engine.refusal(status))) }
  }

  private static func refusal(_ status: Int32) -> SignetError {
    switch status {
    case SIGNET_E_ARGUMENT: return SignetError(reason: "HOST_REFUSED", message: "a request may have 64 MiB")
    case SIGNET_E_MEMORY: return SignetError(reason: "HOST_REFUSED", message: "there is no memory for the request")
    case SIGNET_E_STOPPED: return .stopped
    default: return .closed
    }
  }

  private func finish(_ id: UInt64, _ result: Result<[UInt8], Error>) {
    lock.lock()
    let call = calls.removeValue(forKey: id)
    lock.unlock()
    call?.resume(with: result)
  }

  /// Takes outputs until the client is closed or stops.
  private func run() {
    var kind: Int32 = 0
    var id: UInt64 = 0
    while true {
      var out = signet_buf()
      let status = signet_next(client, -1, &kind, &id, &out)
      let bytes = Engine.take(&out)
      if status == SIGNET_OK {
        deliver(kind, id, bytes)
      } else if status != SIGNET_TIMEOUT {
        return finishAll(status == SIGNET_E_STOPPED ? .stopped : .closed)
      }
    }
  }

  private func deliver(_ kind: Int32, _ id: UInt64, _ bytes: [UInt8]) {
    switch kind {
    case SIGNET_REPLY: finish(id, .success(bytes))
    case SIGNET_REPLY_FAILURE: finish(id, .failure(SignetError.parse(bytes)))
    case SIGNET_EVENT: publish(bytes)
    default: break  // A later version's output.
    }
  }

  private func publish(_ bytes: [UInt8]) {
    guard let event = try? Event(serializedBytes: bytes) else { return }
    lock.lock()
    let all = readers
    lock.unlock()
    for (id, reader) in all {
      guard case .dropped = reader.yield(event) else { continue }
      forget(id)
      reader.finish(throwing: SignetError.lagged)
    }
  }

  func events() -> AsyncThrowingStream<Event, Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingOldest(eventCapacity)) { reader in
      lock.lock()
      lastId += 1
      let id = lastId
      let ended = end
      if ended == nil { readers[id] = reader }
      lock.unlock()
      if let ended { return reader.finish(throwing: Engine.lastError(ended)) }
      reader.onTermination = { [weak self] _ in self?.forget(id) }
    }
  }

  private func forget(_ id: UInt64) {
    lock.lock()
    readers[id] = nil
    lock.unlock()
  }

  /// The error that ends a reader's stream: nil if the app closed the client.
  private static func lastError(_ end: SignetError) -> SignetError? {
    end.reason == SignetError.closed.reason ? nil : end
  }

  private func finishAll(_ why: SignetError) {
    lock.lock()
    end = why
    let (unanswered, listening) = (calls, readers)
    calls = [:]
    readers = [:]
    lock.unlock()
    for call in unanswered.values { call.resume(throwing: why) }
    for reader in listening.values { reader.finish(throwing: Engine.lastError(why)) }
  }

  /// Wipes the memory of the core. The thread ends after that.
  func close() {
    _ = signet_close(client)
  }
}
