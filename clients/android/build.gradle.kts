// The library for the Android Gradle Plugin. Written, never run: build.ts assembles the AAR of the repository.
plugins { id("com.android.library") version "8.13.0" }

android {
  namespace = "dev.signet.client.android"
  compileSdk = 36
  defaultConfig {
    // The client uses java.lang.ref.Cleaner.
    minSdk = 33
    consumerProguardFiles("consumer-rules.pro")
  }
  // <abi>/libsignet-jni.so
  sourceSets["main"].jniLibs.srcDir("../../dist/native/android")
  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_17
    targetCompatibility = JavaVersion.VERSION_17
  }
  // The jar of the JVM has libraries for desktops.
  packaging { resources.excludes += "natives/**" }
}

dependencies { api("dev.signet:signet-client:0.1.0") }
