#include "resume_rules.hpp"

#include <algorithm>

namespace physarum::app {

namespace {

using Keys = std::vector<std::string>;

const Keys& free_keys() {
  static const Keys keys = {
      // names and places; of the model and the prompts more is compared than where they are
      "run_name", "runs_dir", "hf_checkpoint", "init", "save_hf", "log_level", "prompt_data",
      "eval_prompt_data", "ref_load", "input_key", "label_key", "metadata_key", "tool_key",
      // with prompts that are good both values are the same, and with others the run does not begin
      "bad_prompts",
      // checkpoints
      "save", "save_interval", "load", "resume", "async_save", "save_optim", "load_optim",
      "keep_checkpoints", "save_trigger_sentinel", "allow_changed",
      // ranks, and what only decides how fast it goes
      "buffer_ranks", "trainer_ranks", "rollout_ranks", "colocate", "tensor_model_parallel_size",
      "pipeline_model_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size",
      "rollout_num_gpus_per_engine", "rollout_threads", "sglang_server_concurrency",
      "sglang_chunked_prefill_size", "kv_cache_bytes", "sglang_mem_fraction_static",
      "sglang_disable_radix_cache", "lease_deadline", "distributed_timeout_minutes",
      // how weights travel; engines get the same ones
      "update_weight_mode", "update_weight_delta_ring", "update_weight_full_interval",
      "update_weight_buffer_size", "update_weight_threads", "weight_carrier", "weight_directory",
      // what is measured, checked and kept
      "check_weight_update_equal", "eval_interval", "n_samples_per_eval_prompt",
      "skip_eval_before_train", "eval_temperature", "eval_top_p", "eval_top_k", "eval_min_p",
      "eval_max_response_len", "eval_min_response_len", "env_held_out", "save_samples",
      "samples_jsonl"};
  return keys;
}

const Keys& length_keys() {
  static const Keys keys = {"num_rollout", "num_epoch"};
  return keys;
}

const Keys& same_keys() {
  static const Keys keys = {
      // what is asked, and how it is put
      "apply_chat_template", "apply_chat_template_kwargs", "chat_template_date",
      "chat_template_content", "env", "env_level", "env_style", "rollout_shuffle",
      // which groups and which weights a step has
      "mode", "max_weight_staleness", "over_sampling_batch_size", "partial_rollout",
      "mask_offpolicy_in_partial_rollout", "partial_rollout_max_age", "partial_rollout_max_resumes",
      "dynamic_sampling_filter", "async_data_buffer_capacity_factor", "update_weights_interval",
      "update_weight_transfer_type", "pause_generation_mode",
      // how an answer is drawn, and what its record has: one that was begun with another record
      // begins again
      "rollout_temperature", "rollout_top_p", "rollout_top_k", "rollout_min_p",
      "rollout_nucleus_limit", "rollout_top_logprobs_num", "rollout_repetition_penalty",
      "rollout_presence_penalty", "rollout_frequency_penalty", "rollout_max_context_len",
      "rollout_max_prompt_len", "rollout_max_response_len", "rollout_min_response_len",
      "rollout_stop_token_ids", "rollout_stop", "rollout_seed",
      // how a batch is split: sums round differently
      "global_batch_size", "num_steps_per_rollout", "micro_batch_size", "use_dynamic_batch_size",
      "max_tokens_per_gpu",
      // what is learnt from it
      "loss_type", "advantage_estimator", "disable_rewards_normalization",
      "disable_grpo_std_normalization", "normalize_advantages", "eps_clip", "eps_clip_high",
      "eps_clip_c", "entropy_coef", "moe_aux_loss_coeff", "calculate_per_token_loss", "use_kl_loss",
      "kl_loss_coef", "kl_loss_type", "use_unbiased_kl", "use_rollout_logprobs", "use_tis",
      "tis_clip", "tis_clip_low", "lr", "min_lr", "lr_decay_style", "lr_decay_iters",
      "lr_warmup_iters", "lr_warmup_fraction", "lr_warmup_init", "weight_decay", "adam_beta1",
      "adam_beta2", "adam_eps", "clip_grad"};
  return keys;
}

const Keys& fixed_keys() {
  static const Keys keys = {"seed", "rollout_batch_size", "n_samples_per_prompt"};
  return keys;
}

}  // namespace

const std::vector<std::string>& keys_with(ResumeRule rule) {
  switch (rule) {
    case ResumeRule::free:
      return free_keys();
    case ResumeRule::length:
      return length_keys();
    case ResumeRule::same:
      return same_keys();
    case ResumeRule::fixed:
      break;
  }
  return fixed_keys();
}

std::optional<ResumeRule> resume_rule(std::string_view key) {
  for (const ResumeRule rule :
       {ResumeRule::free, ResumeRule::length, ResumeRule::same, ResumeRule::fixed}) {
    if (std::ranges::find(keys_with(rule), key) != keys_with(rule).end()) return rule;
  }
  return std::nullopt;
}

}  // namespace physarum::app
