// The part of React Native's types that this package uses. An app has the real ones.
declare module "react-native" {
  export interface TurboModule {}
  export const TurboModuleRegistry: { get<Module extends TurboModule>(name: string): Module | null }
}
