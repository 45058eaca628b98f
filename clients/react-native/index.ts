// @signet/client-react-native: the messenger in React Native, over a native module that the app brings.
export { createMessenger, type ReactNativeMessenger, type ReactNativeOptions } from "./create-messenger.ts"
export type {
  Handle,
  NativeConversation,
  NativeDevice,
  NativeEntry,
  NativeEvent,
  NativeMessenger,
  NativeOptions,
  NativePerson,
} from "./native-messenger.ts"
