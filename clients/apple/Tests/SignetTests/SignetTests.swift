import XCTest

@testable import Signet

final class SignetTests: XCTestCase {
  private var folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(UUID().uuidString)

  override func tearDown() {
    try? FileManager.default.removeItem(at: folder)
  }

  private func options(_ keys: SignetOptions.Keys = .passphrase(Array("a passphrase".utf8))) -> SignetOptions {
    var identity = Signet_Client_V1_IdentityOptions()
    identity.appID = "app_test"
    identity.authBaseURL = "http://127.0.0.1:9"
    identity.providers = ["IDP_A"]
    return SignetOptions(identity: identity, dataFolder: folder, keys: keys)
  }

  private func reason(of work: () async throws -> Void) async -> String? {
    do {
      try await work()
      return nil
    } catch {
      return (error as? SignetError)?.reason
    }
  }

  func testSelectsOneBox() {
    XCTAssertEqual(options(.keychain()).message().box, .keychain(Signet_Host_V1_KeychainBox()))
    let shared = options(.keychain(afterFirstUnlock: true, accessGroup: "TEAM.shared")).message().keychain
    XCTAssertEqual([shared.afterFirstUnlock ? "after" : "", shared.accessGroup], ["after", "TEAM.shared"])
  }

  func testRefusesOptionsWithATypedError() async {
    let found = await reason { _ = try await SignetClient.open(self.options(.passphrase([]))) }
    XCTAssertEqual(found, "INVALID_ARGUMENT")
  }

  func testAnswersUntilItIsClosed() async throws {
    let client = try await SignetClient.open(options())
    let events = client.events()
    _ = try await client.identity.ready()
    await client.close()
    await client.close()
    for try await _ in events { XCTFail("no event was expected") }
    let found = await reason { _ = try await client.identity.ready() }
    XCTAssertEqual(found, "CLOSED")
  }

  func testLeavesTheFolderOutOfBackups() async throws {
    try await SignetClient.open(options()).close()
    let values = try folder.resourceValues(forKeys: [.isExcludedFromBackupKey])
    XCTAssertEqual(values.isExcludedFromBackup, true)
  }
}
