// swift-tools-version: 5.9
import Foundation
import PackageDescription

// libsignet as an XCFramework, for iOS; otherwise the library that `cmake --install` has installed.
let framework = "CSignet.xcframework"
let hasFramework = FileManager.default.fileExists(atPath: Context.packageDirectory + "/" + framework)

let package = Package(
  name: "Signet",
  platforms: [.macOS(.v12), .iOS(.v15)],
  products: [.library(name: "Signet", targets: ["Signet"])],
  dependencies: [.package(url: "https://github.com/apple/swift-protobuf.git", from: "1.28.0")],
  targets: [
    hasFramework ? .binaryTarget(name: "CSignet", path: framework) : .systemLibrary(name: "CSignet", pkgConfig: "signet"),
    .target(
      name: "Signet",
      dependencies: ["CSignet", .product(name: "SwiftProtobuf", package: "swift-protobuf")]
    ),
    .testTarget(name: "SignetTests", dependencies: ["Signet"]),
  ]
)
