// What autolinking reads for Android. On iOS the podspec is enough.
module.exports = {
  dependency: {
    platforms: {
      android: {
        cxxModuleCMakeListsModuleName: "signet-react-native",
        cxxModuleCMakeListsPath: "CMakeLists.txt",
        cxxModuleHeaderName: "SignetModule",
      },
    },
  },
}
