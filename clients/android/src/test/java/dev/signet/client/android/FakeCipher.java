package dev.signet.client.android;

import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.Key;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.AEADBadTagException;
import javax.crypto.BadPaddingException;
import javax.crypto.Cipher;
import javax.crypto.CipherSpi;
import javax.crypto.IllegalBlockSizeException;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** AES/GCM/NoPadding by a key of the fake Keystore. The authentication of the user may end before doFinal(), as on Android. */
public final class FakeCipher extends CipherSpi {
  private Cipher cipher;
  private String alias;

  @Override
  protected void engineInit(int mode, Key key, AlgorithmParameterSpec spec, SecureRandom random)
      throws InvalidKeyException, InvalidAlgorithmParameterException {
    if (!(key instanceof FakeKeystore.OpaqueKey opaque)) throw new InvalidKeyException("not a key of this Keystore");
    if (mode == Cipher.ENCRYPT_MODE && spec != null) {
      throw new InvalidAlgorithmParameterException("Caller-provided IV not permitted");
    }
    if (mode == Cipher.DECRYPT_MODE && (!(spec instanceof GCMParameterSpec gcm) || gcm.getTLen() != 128)) {
      throw new InvalidAlgorithmParameterException("IV required when decrypting");
    }
    alias = opaque.alias;
    var raw = new SecretKeySpec(FakeKeystore.device.use(alias), "AES");
    try {
      cipher = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE");
      if (spec == null) cipher.init(mode, raw);
      else cipher.init(mode, raw, spec);
    } catch (GeneralSecurityException fault) {
      throw new InvalidKeyException("Keystore operation failed", fault);
    }
  }

  @Override
  protected void engineInit(int mode, Key key, SecureRandom random) throws InvalidKeyException {
    try {
      engineInit(mode, key, (AlgorithmParameterSpec) null, random);
    } catch (InvalidAlgorithmParameterException fault) {
      throw new InvalidKeyException(fault);
    }
  }

  @Override
  protected void engineInit(int mode, Key key, AlgorithmParameters parameters, SecureRandom random) throws InvalidKeyException {
    engineInit(mode, key, random);
  }

  @Override
  protected void engineUpdateAAD(byte[] bytes, int offset, int length) {
    cipher.updateAAD(bytes, offset, length);
  }

  @Override
  protected byte[] engineDoFinal(byte[] input, int offset, int length) throws IllegalBlockSizeException, BadPaddingException {
    try {
      FakeKeystore.device.use(alias);
      return cipher.doFinal(input, offset, length);
    } catch (AEADBadTagException wrong) {
      throw wrong;
    } catch (InvalidKeyException expired) {
      // Android's Cipher has no better exception here: the cause tells.
      var refused = new IllegalBlockSizeException();
      refused.initCause(expired);
      throw refused;
    }
  }

  @Override
  protected byte[] engineGetIV() {
    return cipher.getIV();
  }

  @Override
  protected void engineSetMode(String mode) {}

  @Override
  protected void engineSetPadding(String padding) {}

  @Override
  protected int engineGetBlockSize() {
    return 16;
  }

  @Override
  protected int engineGetOutputSize(int length) {
    return cipher.getOutputSize(length);
  }

  @Override
  protected AlgorithmParameters engineGetParameters() {
    return cipher.getParameters();
  }

  @Override
  protected byte[] engineUpdate(byte[] input, int offset, int length) {
    return cipher.update(input, offset, length);
  }

  @Override
  protected int engineUpdate(byte[] input, int offset, int length, byte[] output, int at) {
    throw new UnsupportedOperationException();
  }

  @Override
  protected int engineDoFinal(byte[] input, int offset, int length, byte[] output, int at) {
    throw new UnsupportedOperationException();
  }
}
