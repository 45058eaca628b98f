// What React Native's code generator reads. The generator has no type for an ArrayBuffer: native-client.ts has the types of
// the object.
import type { TurboModule } from "react-native"
import { TurboModuleRegistry } from "react-native"

export interface Spec extends TurboModule {
  // biome-ignore lint/complexity/noBannedTypes: the code generator knows the type by this name
  readonly core: () => Object
}

// biome-ignore lint/style/noDefaultExport: the code generator looks for it
export default TurboModuleRegistry.get<Spec>("Signet")
