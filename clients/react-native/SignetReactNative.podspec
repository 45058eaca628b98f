# The native module for iOS. Written, never run.
require "json"

package = JSON.parse(File.read(File.join(__dir__, "package.json")))

Pod::Spec.new do |spec|
  spec.name = "SignetReactNative"
  spec.version = package["version"]
  spec.summary = package["description"]
  spec.license = package["license"]
  spec.homepage = "https://signet.dev"
  spec.authors = "Signet"
  spec.platforms = { :ios => "15.1" }
  spec.source = { :path => "." }
  spec.source_files = "cpp/**/*.{h,cpp}", "ios/**/*.{h,mm}"
  # libsignet with its header: see the README.
  spec.vendored_frameworks = "native/Signet.xcframework"
  spec.pod_target_xcconfig = { "CLANG_CXX_LANGUAGE_STANDARD" => "c++20" }
  install_modules_dependencies(spec)
end
