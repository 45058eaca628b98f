// The part of React Native's types that this package uses. An app has the real ones.
declare module "react-native" {
  export interface TurboModule {}
  export const TurboModuleRegistry: { getEnforcing<Module extends TurboModule>(name: string): Module }
}
