"""Messages of KEDA's external scaler, generated from proto/."""
