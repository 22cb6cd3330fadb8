#include "command.hpp"

namespace physarum::app {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"train", "[CONFIG.toml] [--flag value ...]",
       "The whole circle: generate, verify, learn, publish. SFT too (--loss-type sft_loss).",
       &run_train},
      {"evaluate", "[CONFIG.toml] [--flag value ...]",
       "Reward of a model on the held-out problems, without training.", &run_evaluate},
      {"generate", "[CONFIG.toml] [--flag value ...]",
       "Rollouts only: prompts in, samples (HDF5) out.", &run_generate},
      {"inspect", "PATH ... [--no-verify]",
       "What a run, a checkpoint, any file of ours, a GGUF or a safetensors file holds, and "
       "whether "
       "it is intact.",
       &run_inspect},
      {"convert", "IN OUT [--flag value ...]",
       "prompts.jsonl to prompts.h5; a GGUF file, a checkpoint or a Hugging Face directory to a "
       "new "
       "Hugging Face directory.",
       &run_convert},
      {"check", "[CONFIG.toml] [--ranks N] [--slurm | --slurm-components] [--flag value ...]",
       "Validates a configuration and prints it resolved, with rank layout and memory, or a Slurm "
       "job script for it. Runs nothing.",
       &run_check}};
  return all;
}

}  // namespace physarum::app
