# Release 0.1.0 of keywright for Homebrew, written by make release: Formula/keywright.rb of a tap.
class Keywright < Formula
  desc "Schema as code for Redis and Valkey keyspaces"
  homepage "https://github.com/keywright/keywright"
  version "0.1.0"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/keywright/keywright/releases/download/v0.1.0/keywright_0.1.0_darwin_arm64.tar.gz"
      sha256 "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
    end
    on_intel do
      url "https://github.com/keywright/keywright/releases/download/v0.1.0/keywright_0.1.0_darwin_amd64.tar.gz"
      sha256 "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/keywright/keywright/releases/download/v0.1.0/keywright_0.1.0_linux_arm64.tar.gz"
      sha256 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
    end
    on_intel do
      url "https://github.com/keywright/keywright/releases/download/v0.1.0/keywright_0.1.0_linux_amd64.tar.gz"
      sha256 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    end
  end

  def install
    bin.install "keywright", "keywrightd"
    generate_completions_from_executable(bin/"keywright", "completion")
  end

  test do
    assert_match "keywright v#{version}, commit ", shell_output("#{bin}/keywright version")
    (testpath/"keyspace.yaml").write <<~YAML
      keywright: 1
      package: shop
      owner: shop
      keys:
        account: {key: "user:{id}", type: string, ttl: none}
    YAML
    assert_match "account", pipe_output("#{bin}/keywright match", "user:7\n")
  end
end
