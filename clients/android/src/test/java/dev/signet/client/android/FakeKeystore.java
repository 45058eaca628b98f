package dev.signet.client.android;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.StrongBoxUnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidParameterException;
import java.security.Key;
import java.security.KeyStoreException;
import java.security.KeyStoreSpi;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.Security;
import java.security.UnrecoverableKeyException;
import java.security.cert.Certificate;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Collections;
import java.util.Date;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import javax.crypto.KeyGeneratorSpi;
import javax.crypto.SecretKey;

/** The JCA provider of a {@link FakeDevice}, named as Android's. */
final class FakeKeystore extends Provider {
  private static final long serialVersionUID = 1;
  static FakeDevice device;

  private FakeKeystore() {
    super("AndroidKeyStore", "1.0", "a stand-in for tests");
    var self = FakeKeystore.class.getPackageName();
    putService(new Service(this, "KeyStore", "AndroidKeyStore", self + ".FakeKeystore$Store", List.of(), Map.of()));
    putService(new Service(this, "KeyGenerator", "AES", self + ".FakeKeystore$Generator", List.of(), Map.of()));
    var keys = Map.of("SupportedKeyClasses", self + ".FakeKeystore$OpaqueKey");
    putService(new Service(this, "Cipher", "AES/GCM/NoPadding", self + ".FakeCipher", List.of(), keys));
  }

  /** Runs the device in this program. Its ciphers come before those of other providers, as Android's do. */
  static void install(FakeDevice on) {
    device = on;
    if (Security.getProvider("AndroidKeyStore") == null) Security.insertProviderAt(new FakeKeystore(), 1);
  }

  /** A key that is not extractable. */
  static final class OpaqueKey implements SecretKey {
    private static final long serialVersionUID = 1;
    final transient String alias;

    OpaqueKey(String alias) {
      this.alias = alias;
    }

    @Override
    public String getAlgorithm() {
      return "AES";
    }

    @Override
    public String getFormat() {
      return null;
    }

    @Override
    public byte[] getEncoded() {
      return null;
    }
  }

  /** KeyGenerator. */
  public static final class Generator extends KeyGeneratorSpi {
    private KeyGenParameterSpec spec;

    @Override
    protected void engineInit(SecureRandom random) {
      throw new UnsupportedOperationException("Cannot initialize without a KeyGenParameterSpec parameter");
    }

    @Override
    protected void engineInit(int bits, SecureRandom random) {
      engineInit(random);
    }

    @Override
    protected void engineInit(AlgorithmParameterSpec given, SecureRandom random) throws InvalidAlgorithmParameterException {
      if (!(given instanceof KeyGenParameterSpec known)) throw new InvalidAlgorithmParameterException("no KeyGenParameterSpec");
      if (known.getKeySize() != 256 || !known.isRandomizedEncryptionRequired()) throw new InvalidParameterException();
      device.check(known);
      spec = known;
    }

    @Override
    protected SecretKey engineGenerateKey() {
      if (device.isBroken()) throw new ProviderException("Keystore key generation failed");
      if (spec.isStrongBoxBacked() && !device.hasStrongBox()) throw new StrongBoxUnavailableException("Failed to generate key");
      var raw = new byte[32];
      new SecureRandom().nextBytes(raw);
      device.createKey(spec, raw);
      return new OpaqueKey(spec.getKeystoreAlias());
    }
  }

  /** KeyStore. */
  public static final class Store extends KeyStoreSpi {
    @Override
    public void engineLoad(InputStream stream, char[] password) throws IOException {
      if (stream != null || password != null) throw new IllegalArgumentException("no stream or password");
    }

    @Override
    public Key engineGetKey(String alias, char[] password) throws UnrecoverableKeyException {
      if (device.isBroken()) {
        // As AndroidKeyStoreProvider: the fault of the daemon is the cause.
        var broken = new UnrecoverableKeyException("Failed to obtain information about key");
        broken.initCause(new android.security.KeyStoreException(4, "System error"));
        throw broken;
      }
      // As AndroidKeyStoreSpi, which drops the cause.
      if (device.isRefusedEarly(alias)) throw new UnrecoverableKeyException("Key permanently invalidated");
      return device.isHidden(alias) || !device.hasKey(alias) ? null : new OpaqueKey(alias);
    }

    @Override
    public boolean engineContainsAlias(String alias) {
      return device.hasKey(alias);
    }

    @Override
    public void engineDeleteEntry(String alias) throws KeyStoreException {
      if (device.isBroken()) throw new KeyStoreException("Failed to delete entry: " + alias);
      try {
        device.deleteKey(alias);
      } catch (IOException fault) {
        throw new KeyStoreException(fault);
      }
    }

    @Override
    public Enumeration<String> engineAliases() {
      return Collections.emptyEnumeration();
    }

    @Override
    public int engineSize() {
      return (int) device.keys();
    }

    @Override
    public boolean engineIsKeyEntry(String alias) {
      return device.hasKey(alias);
    }

    @Override
    public boolean engineIsCertificateEntry(String alias) {
      return false;
    }

    @Override
    public Certificate[] engineGetCertificateChain(String alias) {
      return null;
    }

    @Override
    public Certificate engineGetCertificate(String alias) {
      return null;
    }

    @Override
    public String engineGetCertificateAlias(Certificate certificate) {
      return null;
    }

    @Override
    public Date engineGetCreationDate(String alias) {
      return null;
    }

    @Override
    public void engineSetKeyEntry(String alias, Key key, char[] password, Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineSetKeyEntry(String alias, byte[] key, Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineSetCertificateEntry(String alias, Certificate certificate) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void engineStore(OutputStream stream, char[] password) {
      throw new UnsupportedOperationException();
    }
  }
}
