// The platform of an iOS app: its data folder, the origins of its Info.plist, and the Keychain. Written, never run.
#import <Foundation/Foundation.h>
#import <ReactCommon/CxxTurboModuleUtils.h>

#import "SignetModule.h"
#import "platform.h"
#import "wire.h"

namespace {

// NativeOptions.
constexpr uint32_t kDataFolder = 2, kPlatform = 9, kKeychain = 11;

class ApplePlatform : public signet::Platform {
 public:
  signet::Bytes options(const std::string &account) override {
    signet::Bytes keychain, options;
    // KeychainBox.after_first_unlock: a push arrives while the device is locked.
    signet::put_number(keychain, 1, 1);
    signet::put_bytes(options, kDataFolder, folder() + "/" + account);
    signet::put_bytes(options, kPlatform, "ios");
    signet::put_bytes(options, kKeychain, keychain);
    return options;
  }

  std::string folder() override {
    NSFileManager *files = NSFileManager.defaultManager;
    NSURL *support = [files URLForDirectory:NSApplicationSupportDirectory
                                   inDomain:NSUserDomainMask
                          appropriateForURL:nil
                                     create:YES
                                      error:nil];
    NSURL *folder = [support URLByAppendingPathComponent:@"signet" isDirectory:YES];
    NSDictionary *protection = @{NSFileProtectionKey : NSFileProtectionCompleteUntilFirstUserAuthentication};
    [files createDirectoryAtURL:folder withIntermediateDirectories:YES attributes:protection error:nil];
    // The keys are on this device only, so a backup of the rows could not be opened.
    [folder setResourceValue:@YES forKey:NSURLIsExcludedFromBackupKey error:nil];
    return folder.path == nil ? "" : std::string(folder.path.UTF8String);
  }

  std::vector<std::string> origins() override {
    std::vector<std::string> all;
    NSArray *listed = [NSBundle.mainBundle objectForInfoDictionaryKey:@"SignetOrigins"];
    for (id origin in listed) {
      if ([origin isKindOfClass:NSString.class]) all.emplace_back([origin UTF8String]);
    }
    return all;
  }
};

}  // namespace

@interface SignetPlatform : NSObject
@end

@implementation SignetPlatform

// Before JavaScript starts.
+ (void)load {
  signet::set_platform(std::make_shared<ApplePlatform>());
  facebook::react::registerCxxModuleToGlobalModuleMap(
      std::string(facebook::react::SignetModule::kModuleName),
      [](std::shared_ptr<facebook::react::CallInvoker> jsInvoker) {
        return std::make_shared<facebook::react::SignetModule>(jsInvoker);
      });
}

@end
